"""Everything that is stored or handed out says what it is: tables, columns, and the fields of the API."""

import pytest

from docs import generate


def test_every_table_and_column_has_a_description():
    bare = []
    for model in generate.models():
        if not model._meta.db_table_comment:
            bare.append(model._meta.db_table)
        for field in model._meta.local_concrete_fields:
            if not field.db_comment and not field.auto_created:  # the row's number explains itself
                bare.append(f"{model._meta.db_table}.{field.column}")
    assert not bare, f"give these a db_comment (tables: db_table_comment): {bare}"


@pytest.mark.django_db
def test_every_operation_parameter_and_field_of_the_api_has_a_description(client):
    answer = client.get("/api/v1/openapi.json", headers={"host": "localhost"})
    assert answer.status_code == 200
    schema = answer.json()
    assert schema["paths"]
    assert schema["components"]["schemas"]
    bare = [*undescribed_operations(schema), *undescribed_fields(schema)]
    assert not bare, f"describe these in hemeroteca/api: {bare}"


def undescribed_operations(schema):
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            if not operation.get("summary"):
                yield f"{method} {path}"
            for parameter in operation.get("parameters", []):
                if not (parameter.get("description") or parameter["schema"].get("description")):
                    yield f"{method} {path}: {parameter['name']}"


def undescribed_fields(schema):
    for name, component in schema["components"]["schemas"].items():
        for field, facts in component.get("properties", {}).items():
            if not facts.get("description"):
                yield f"{name}.{field}"
