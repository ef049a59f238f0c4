from django.urls import path

from experiment.lab.items import moves, views

urlpatterns = [
    path("<int:pk>/", views.item, name="item"),
    path("<int:pk>/move/", moves.move, name="move_item"),
    path("<int:pk>/retire/", moves.retire, name="retire_item"),
    path("<int:pk>/review/", moves.review, name="review_item"),
]
