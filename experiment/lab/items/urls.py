from django.urls import path

from experiment.lab.items import comments, moves, views

urlpatterns = [
    path("<int:pk>/", views.item, name="item"),
    path("<int:pk>/move/", moves.move, name="move_item"),
    path("<int:pk>/retire/", moves.retire, name="retire_item"),
    path("<int:pk>/review/", moves.review, name="review_item"),
    path("<int:pk>/comments/", comments.comment, name="comment_on_item"),
    path("<int:pk>/comments/<int:comment>/", comments.answer, name="answer_comment"),
]
