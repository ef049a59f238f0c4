"""Who works here: signing in, one's account, members and invitations, the trail; in the namespace `lab`."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from experiment.lab.members import account, invitation, members, sign_in, trail

_MEMBERS = "studies/<slug:slug>/members/"

urlpatterns = [
    path("sign-in/", sign_in.SignIn.as_view(), name="sign_in"),
    path("sign-in/code/", sign_in.second_step, name="second_step"),
    path("sign-out/", LogoutView.as_view(), name="sign_out"),
    path("welcome/<uidb64>/<token>/", sign_in.Welcome.as_view(), name="welcome"),
    path("account/", account.account, name="account"),
    path("account/codes/", account.set_up_codes, name="set_up_codes"),
    path("account/codes/picture.svg", account.picture, name="codes_picture"),
    path("account/codes/change/", account.change_codes, name="change_codes"),
    path("account/elsewhere/", account.sign_out_elsewhere, name="sign_out_elsewhere"),
    path("invitations/<str:secret>/", invitation.invitation, name="invitation"),
    path(_MEMBERS, members.members, name="members"),
    path(f"{_MEMBERS}invite/", members.invite, name="invite"),
    path(f"{_MEMBERS}invitations/<int:pk>/revoke/", members.revoke, name="revoke_invitation"),
    path(f"{_MEMBERS}<int:pk>/role/", members.change_role, name="change_role"),
    path(f"{_MEMBERS}<int:pk>/remove/", members.remove, name="remove_member"),
    path("people/", members.site_people, name="people"),
    path("people/invitations/<int:pk>/revoke/", members.revoke_from_site, name="revoke_site"),
    path("studies/<slug:slug>/trail/", trail.trail, name="trail"),
    path("trail/", trail.site_trail, name="site_trail"),
]
