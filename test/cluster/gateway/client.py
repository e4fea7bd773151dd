"""What the Kubernetes client for Python gets, a line of JSON for each thing: client.py <kubeconfig> <story>."""

import json
import os
import sys
import tempfile

from kubernetes import client, config, dynamic, watch

NAMESPACE = "snake"


def tell(what, value=None):
    print(json.dumps([what, value]), flush=True)


def refusal(error):
    """What the API said; the client itself keeps the body as text."""
    return [error.status, json.loads(error.body)["message"]]


def attempt(what, call, *args, **given):
    try:
        call(*args, **given)
        tell(what, "passed")
    except client.ApiException as error:
        tell(what, refusal(error))


def config_map(name, **data):
    metadata = {"name": name, "labels": {"story": "python"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def life():
    """One object from its creation to its end."""
    core = client.CoreV1Api()
    review = client.AuthenticationV1Api().create_self_subject_review(client.V1SelfSubjectReview())
    tell("user", review.status.user_info.username)
    tell("version", client.VersionApi().get_code().major)
    created = core.create_namespaced_config_map(NAMESPACE, config_map("life", a="1"))
    tell("created", created.data)
    core.create_namespaced_config_map(NAMESPACE, config_map("other"))
    tell("read", core.read_namespaced_config_map("life", NAMESPACE).data)
    selected = {"label_selector": "story=python", "limit": 1}
    page = core.list_namespaced_config_map(NAMESPACE, **selected)
    tell("page", [item.metadata.name for item in page.items])
    selected["_continue"] = page.metadata._continue
    page = core.list_namespaced_config_map(NAMESPACE, **selected)
    tell("next page", [item.metadata.name for item in page.items])
    merged = core.patch_namespaced_config_map("life", NAMESPACE, {"data": {"b": "2"}})
    tell("merged", merged.data)
    steps = [{"op": "remove", "path": "/data/a"}]
    patched = core.patch_namespaced_config_map("life", NAMESPACE, steps)
    tell("patched", patched.data)
    patched.data = {"c": "3"}
    tell("replaced", core.replace_namespaced_config_map("life", NAMESPACE, patched).data)
    tell("deleted", core.delete_namespaced_config_map("life", NAMESPACE).status)
    attempt("read again", core.read_namespaced_config_map, "life", NAMESPACE)


def apply():
    """Server-side apply by the dynamic client, which finds the kinds by discovery."""
    with tempfile.TemporaryDirectory() as folder:
        cache = os.path.join(folder, "discovery")
        api = dynamic.DynamicClient(client.ApiClient(), cache_file=cache)
    kinds = api.resources.get(api_version="v1", kind="ConfigMap")
    for value in ("1", "2"):
        body = config_map("applied", a=value)
        applied = kinds.server_side_apply(body, namespace=NAMESPACE, field_manager="python")
        tell("applied", applied.data.to_dict())
        tell("managers", [entry.manager for entry in applied.metadata.managedFields])
    attempt(
        "applied by another",
        lambda: kinds.server_side_apply(
            config_map("applied", a="3"), namespace=NAMESPACE, field_manager="other"
        ),
    )
    settings = api.resources.get(api_version="management.platform.sh/v1", kind="Config")
    tell("settings", [item.metadata.name for item in settings.get().items])


def keys():
    """A key of one's own, as an object of a kind that the client has no model of."""
    ours = ("management.platform.sh", "v1", "ownedaccesskeys")
    api = client.CustomObjectsApi()
    body = {
        "apiVersion": "management.platform.sh/v1",
        "kind": "OwnedAccessKey",
        "metadata": {"name": "python"},
        "spec": {"displayName": "of the Python client"},
    }
    made = api.create_cluster_custom_object(*ours, body)
    tell("made", [made["spec"]["user"], len(made["spec"]["key"])])
    read = api.get_cluster_custom_object(*ours, "python")
    tell("read", [read["spec"]["displayName"], "key" in read["spec"]])
    listed = api.list_cluster_custom_object(*ours)
    tell("listed", "python" in [item["metadata"]["name"] for item in listed["items"]])
    patch = {"spec": {"displayName": "changed"}}
    changed = api.patch_cluster_custom_object(*ours, "python", patch)
    tell("changed", changed["spec"]["displayName"])
    api.delete_cluster_custom_object(*ours, "python")
    tell("deleted")


def follow():
    """Tells events until the watch ends."""
    core = client.CoreV1Api()
    listed = core.list_namespaced_config_map(NAMESPACE)
    tell("listed")
    version = listed.metadata.resource_version
    try:
        stream = watch.Watch().stream(
            core.list_namespaced_config_map, NAMESPACE, resource_version=version
        )
        for event in stream:
            tell(event["type"], event["object"].metadata.name)
    except client.ApiException as error:
        tell("ended", [error.status, error.reason])


def refused():
    """What a key is not let do."""
    core = client.CoreV1Api()
    attempt("configmaps", core.list_namespaced_config_map, NAMESPACE)
    attempt("secrets", core.list_namespaced_secret, NAMESPACE)
    attempt("create", core.create_namespaced_config_map, NAMESPACE, config_map("refused"))
    attempt("elsewhere", core.read_namespaced_config_map, "kube-root-ca.crt", "default")


kubeconfig, story = sys.argv[1:]
config.load_kube_config(kubeconfig)
STORIES = {"life": life, "apply": apply, "keys": keys, "follow": follow, "refused": refused}
STORIES[story]()
