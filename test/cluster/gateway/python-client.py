"""Prints what the Kubernetes client for Python gets, one line of JSON per step: python-client.py <kubeconfig> <scenario>."""

import json
import os
import sys
import tempfile

from kubernetes import client, config, dynamic, watch
from kubernetes.stream import stream

NAMESPACE = "snake"


def report(what, value=None):
    print(json.dumps([what, value]), flush=True)


def refusal(error):
    """Code and message of the Status; the client itself keeps the body as text."""
    return [error.status, json.loads(error.body)["message"]]


def attempt(what, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
        report(what, "passed")
    except client.ApiException as error:
        report(what, refusal(error))


def config_map(name, **data):
    metadata = {"name": name, "labels": {"story": "python"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def lifecycle():
    """One object from create to delete."""
    core = client.CoreV1Api()
    review = client.AuthenticationV1Api().create_self_subject_review(client.V1SelfSubjectReview())
    report("user", review.status.user_info.username)
    report("version", client.VersionApi().get_code().major)
    created = core.create_namespaced_config_map(NAMESPACE, config_map("life", a="1"))
    report("created", created.data)
    core.create_namespaced_config_map(NAMESPACE, config_map("other"))
    report("read", core.read_namespaced_config_map("life", NAMESPACE).data)
    selected = {"label_selector": "story=python", "limit": 1}
    page = core.list_namespaced_config_map(NAMESPACE, **selected)
    report("page", [item.metadata.name for item in page.items])
    selected["_continue"] = page.metadata._continue
    page = core.list_namespaced_config_map(NAMESPACE, **selected)
    report("next page", [item.metadata.name for item in page.items])
    merged = core.patch_namespaced_config_map("life", NAMESPACE, {"data": {"b": "2"}})
    report("merged", merged.data)
    steps = [{"op": "remove", "path": "/data/a"}]
    patched = core.patch_namespaced_config_map("life", NAMESPACE, steps)
    report("patched", patched.data)
    patched.data = {"c": "3"}
    report("replaced", core.replace_namespaced_config_map("life", NAMESPACE, patched).data)
    report("deleted", core.delete_namespaced_config_map("life", NAMESPACE).status)
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
        report("applied", applied.data.to_dict())
        report("managers", [entry.manager for entry in applied.metadata.managedFields])
    attempt(
        "applied by another",
        lambda: kinds.server_side_apply(
            config_map("applied", a="3"), namespace=NAMESPACE, field_manager="other"
        ),
    )
    settings = api.resources.get(api_version="management.platform.sh/v1", kind="Config")
    report("settings", [item.metadata.name for item in settings.get().items])


def keys():
    """An access key of the caller, as a custom object."""
    ours = ("management.platform.sh", "v1", "ownedaccesskeys")
    api = client.CustomObjectsApi()
    body = {
        "apiVersion": "management.platform.sh/v1",
        "kind": "OwnedAccessKey",
        "metadata": {"name": "python"},
        "spec": {"displayName": "of the Python client"},
    }
    made = api.create_cluster_custom_object(*ours, body)
    report("made", [made["spec"]["user"], len(made["spec"]["key"])])
    read = api.get_cluster_custom_object(*ours, "python")
    report("read", [read["spec"]["displayName"], "key" in read["spec"]])
    listed = api.list_cluster_custom_object(*ours)
    report("listed", "python" in [item["metadata"]["name"] for item in listed["items"]])
    patch = {"spec": {"displayName": "changed"}}
    changed = api.patch_cluster_custom_object(*ours, "python", patch)
    report("changed", changed["spec"]["displayName"])
    api.delete_cluster_custom_object(*ours, "python")
    report("deleted")


def watch_events():
    """Prints events until the watch ends."""
    core = client.CoreV1Api()
    listed = core.list_namespaced_config_map(NAMESPACE)
    report("listed")
    version = listed.metadata.resource_version
    try:
        stream = watch.Watch().stream(
            core.list_namespaced_config_map, NAMESPACE, resource_version=version
        )
        for event in stream:
            report(event["type"], event["object"].metadata.name)
    except client.ApiException as error:
        report("ended", [error.status, error.reason])


def refused():
    """Requests that the scope of the key doesn't grant, after one that it grants."""
    core = client.CoreV1Api()
    attempt("configmaps", core.list_namespaced_config_map, NAMESPACE)
    attempt("secrets", core.list_namespaced_secret, NAMESPACE)
    attempt("create", core.create_namespaced_config_map, NAMESPACE, config_map("refused"))
    attempt("elsewhere", core.read_namespaced_config_map, "kube-root-ca.crt", "default")


def execute():
    """A session in a pod over a WebSocket: it reads and writes, and has an exit code."""
    core = client.CoreV1Api()
    script = 'echo told >&2; while read line; do echo "<$line>"; [ "$line" = bye ] && exit 3; done'
    session = stream(
        core.connect_get_namespaced_pod_exec,
        "web",
        NAMESPACE,
        command=["sh", "-c", script],
        stdin=True,
        stdout=True,
        stderr=True,
        tty=False,
        _preload_content=False,
    )
    report("error", session.readline_stderr(timeout=20))
    for line in ("one", "bye"):
        session.write_stdin(line + "\n")
        report("output", session.readline_stdout(timeout=20))
    session.run_forever(timeout=20)
    report("code", session.returncode)
    try:
        stream(core.connect_get_namespaced_pod_exec, "none", NAMESPACE, command="x")
    except client.ApiException as error:
        # The client makes a text of the answer.
        report("missing", error.reason)


kubeconfig, scenario = sys.argv[1:]
config.load_kube_config(kubeconfig)
SCENARIOS = {
    "lifecycle": lifecycle,
    "apply": apply,
    "keys": keys,
    "watch": watch_events,
    "execute": execute,
    "refused": refused,
}
SCENARIOS[scenario]()
