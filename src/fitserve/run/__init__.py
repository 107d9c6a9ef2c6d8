"""Make it so: one supervised process per deployment, its stages, its memory given back."""
