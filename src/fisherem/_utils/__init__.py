"""Small tools that know nothing of mixtures: atomic files, extras, parallel tasks, progress, words."""
