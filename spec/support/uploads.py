# Reads what profiles are sent as, and prints it as JSON. `push BODY DIRECTORY` writes the file of each series there.
# Neither of the two decoders is ours: protobuf is Google's, and the messages of OTLP are OpenTelemetry's own.
import json
import sys
from collections import Counter


def push(body, directory):
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    kinds = {"text": 9, "bytes": 12}
    file = descriptor_pb2.FileDescriptorProto(name="push.proto", package="push.v1", syntax="proto3")
    for name, fields in {
        "Label": ["name text", "value text"],
        "RawSample": ["raw_profile bytes", "id text"],
        "Series": ["labels Label", "samples RawSample"],
        "PushRequest": ["series Series"],
    }.items():
        message = file.message_type.add(name=name)
        for number, field in enumerate(fields, 1):
            field, kind = field.split()
            single = kind in kinds
            added = message.field.add(name=field, number=number, label=1 if single else 3, type=kinds.get(kind, 11))
            if not single:
                added.type_name = f".push.v1.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    request = message_factory.GetMessageClass(pool.FindMessageTypeByName("push.v1.PushRequest")).FromString(body)
    found = []
    for series in request.series:
        (sample,) = series.samples
        path = f"{directory}/{len(found)}.pb.gz"
        with open(path, "wb") as file:
            file.write(sample.raw_profile)
        found.append({"labels": [[it.name, it.value] for it in series.labels], "id": sample.id, "file": path})
    return found


def export(body):
    from opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2 import ExportProfilesServiceRequest

    request = ExportProfilesServiceRequest.FromString(body)
    tables = request.dictionary
    text = tables.string_table
    for table in ("mapping", "location", "function", "link", "attribute", "stack"):
        first = getattr(tables, f"{table}_table")[0]
        assert first == type(first)(), f"the first entry of the table of {table}s is not empty"
    assert text[0] == "" and len(set(text)) == len(text)

    def names(stack):
        for location in tables.stack_table[stack].location_indices:
            (line,) = tables.location_table[location].lines
            yield text[tables.function_table[line.function_index].name_strindex]

    (resource,) = request.resource_profiles
    (scope,) = resource.scope_profiles
    found = []
    for profile in scope.profiles:
        total, by, functions, identities = 0, {}, Counter(), set()
        for sample in profile.samples:
            (value,) = sample.values
            identities.add((sample.stack_index, *sample.attribute_indices))
            total += value
            functions.update({name: value for name in set(names(sample.stack_index))})
            for index in sample.attribute_indices:
                attribute = tables.attribute_table[index]
                by.setdefault(text[attribute.key_strindex], Counter())[attribute.value.string_value] += value
        assert len(identities) == len(profile.samples), "two samples of one stack and set of attributes"
        found.append({
            "type": [text[profile.sample_type.type_strindex], text[profile.sample_type.unit_strindex]],
            "period_type": [text[profile.period_type.type_strindex], text[profile.period_type.unit_strindex]],
            "period": profile.period, "time": profile.time_unix_nano, "duration": profile.duration_nano,
            "id": profile.profile_id.hex(), "total": total, "by": by, "functions": functions,
        })
    attributes = {it.key: it.value.string_value for it in resource.resource.attributes}
    return {"resource": attributes, "scope": [scope.scope.name, scope.scope.version], "profiles": found}


command, path, *rest = sys.argv[1:]
with open(path, "rb") as file:
    print(json.dumps({"push": push, "export": export}[command](file.read(), *rest)))
