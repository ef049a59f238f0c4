"""What drafting and reviewing share: questions to a model, several at a time, within a budget."""
