"""The prompt of a language model: template, neutralised context, budget."""
