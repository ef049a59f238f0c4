"""What people's trials cost, on studies of any size in databases of their own."""
