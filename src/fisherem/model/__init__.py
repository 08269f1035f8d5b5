"""What a mixture is, without data: the family of models and the criteria that judge a fit of one."""
