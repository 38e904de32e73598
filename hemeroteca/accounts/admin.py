"""People and tokens in Django's admin, for administrators."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.forms import AdminPasswordChangeForm, AdminUserCreationForm, UserChangeForm
from django.contrib.auth.models import Group
from django.http import HttpRequest
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from hemeroteca.accounts.models import ApiToken, User

admin.site.site_header = admin.site.site_title = "Hemeroteca"
admin.site.unregister(Group)  # roles replace groups


class UserCreationForm(AdminUserCreationForm):  # type: ignore[type-arg]
    class Meta:
        model = User
        fields = ("name", "role")


class UserForm(UserChangeForm):  # type: ignore[type-arg]
    class Meta:
        model = User
        fields = ("name", "role", "is_active", "password")


class PasswordForm(AdminPasswordChangeForm):  # type: ignore[type-arg]
    usable_password_help_text: Any = format_lazy(  # Django's own is made before anybody's language is known
        '{} <ul id="id_unusable_warning" class="messagelist"><li class="warning">{}</li></ul>',
        AdminUserCreationForm.usable_password_help_text,
        _("If disabled, the current password for this user will be lost."),
    )


@admin.register(User)
class UserAdmin(DjangoUserAdmin):  # type: ignore[type-arg]
    form = UserForm
    add_form = UserCreationForm
    change_password_form = PasswordForm
    list_display = ("name", "role", "is_active", "created", "last_login")
    list_filter = ("role", "is_active")
    search_fields = ("name",)
    ordering = ("name",)
    filter_horizontal = ()
    readonly_fields = ("created", "last_login")
    fieldsets = ((None, {"fields": ("name", "password", "role", "is_active", "created", "last_login")}),)
    add_fieldsets = ((None, {"fields": ("name", "role", "usable_password", "password1", "password2")}),)


@admin.register(ApiToken)
class ApiTokenAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Tokens are made with `hemeroteca token create`, which can show the secret; here they are seen and deleted."""

    list_display = ("prefix", "label", "user", "role", "scopes", "created", "expires", "last_used")
    readonly_fields = ("prefix", "user", "role", "scopes", "created", "last_used")
    fields = ("label", "prefix", "user", "role", "scopes", "created", "expires", "last_used")

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        return False
