"""`radref eval calibrate`: fits the evidence gate on a question set and shows what each bound costs."""
