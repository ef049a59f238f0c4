"""Who works on studies: members, invitations, and how they prove who they are."""
