from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "hemeroteca.accounts"
    label = "accounts"
