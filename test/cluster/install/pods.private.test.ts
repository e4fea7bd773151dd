// The pods of all Deployments in a namespace that enforces the restricted Pod Security Standard. There is no kubelet:
// the tests check admission and specs.
import { describe, expect, test } from 'vitest'
import { privateControlPlane } from '../../support/control-plane.ts'
import { OPERATOR_ACCOUNT } from '../../support/installed-control-plane.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { buildKustomization, objectsIn } from './installer.ts'

interface Container {
  readonly name: string
  readonly securityContext: object
  readonly resources: object
  readonly volumeMounts?: readonly { readonly mountPath: string }[]
}

interface PodSpec {
  readonly containers: readonly [Container]
  readonly volumes?: readonly object[]
  readonly [field: string]: unknown
}

interface Template {
  readonly metadata: object
  readonly spec: PodSpec
}

type Made = { readonly message?: string } & Partial<Template>

const NAMESPACE = OPERATOR_ACCOUNT.namespace
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`
const STATE_MOUNT = '/var/lib/management-operator/state'
const TOKEN_MOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

const plane = await privateControlPlane()
const [standard, example, syncer, direct] = await Promise.all(
  ['default', 'overlays/example', 'syncer', 'direct'].map(async (name) =>
    templatesIn(await buildKustomization(plane, name)),
  ),
)

test('the namespace enforces the restricted standard', async () => {
  const { stdout } = await plane.kubectl(['get', 'namespace', NAMESPACE, '-o', 'json'])
  const { metadata } = JSON.parse(stdout) as { readonly metadata: { readonly labels: object } }
  const { stdout: version } = await plane.kubectl(['version', '-o', 'json'])
  const { serverVersion } = JSON.parse(version) as {
    readonly serverVersion: { readonly major: string; readonly minor: string }
  }
  expect(metadata.labels).toMatchObject({
    'pod-security.kubernetes.io/enforce': 'restricted',
    'pod-security.kubernetes.io/enforce-version': `v${serverVersion.major}.${serverVersion.minor}`,
  })
})

// The syncer runs in the namespace of its virtual cluster, and the direct endpoint in another cluster; here that is this
// one.
for (const account of ['syncer', 'direct'])
  await mustKubectl(plane, ['create', 'serviceaccount', account, '-n', NAMESPACE])

test.each(['manager', 'gateway', 'delivery'])(
  'a pod of the %s is admitted as in the example overlay, with its own priority class',
  async (name) => {
    const { code, body } = await make(of(example, name))
    expect({ code, priority: body.spec?.['priority'] }).toEqual({ code: 201, priority: 2e9 })
  },
)

describe.each([
  { name: 'manager', template: of(standard, 'manager'), files: [] },
  { name: 'gateway', template: of(standard, 'gateway'), files: [] },
  { name: 'delivery process', template: of(standard, 'delivery'), files: [] },
  { name: 'syncer', template: of(syncer, 'syncer'), files: ['/etc/virtual', '/etc/vcluster'] },
  { name: 'direct endpoint', template: of(direct, 'direct'), files: [STATE_MOUNT] },
])('a pod of the $name', ({ template, files }) => {
  test('is admitted, with only its files and the token of its ServiceAccount mounted', async () => {
    const { code, body } = await make(template)
    expect({ code, message: body.message }).toEqual({ code: 201, message: undefined })
    const mounts = body.spec?.containers[0].volumeMounts?.map(({ mountPath }) => mountPath)
    expect(mounts).toEqual([...files, TOKEN_MOUNT])
  })

  test('has a read-only file system, an unprivileged uid and a grace period', () => {
    const [container] = template.spec.containers
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    expect(template.spec).toMatchObject({
      securityContext: { runAsNonRoot: true, runAsUser: 65532, runAsGroup: 65532 },
      terminationGracePeriodSeconds: 40,
    })
    expect(container.resources).toMatchObject({ requests: { cpu: '100m' }, limits: {} })
    expect(container).toHaveProperty('startupProbe')
    expect(container).toHaveProperty('livenessProbe')
    expect(container).toHaveProperty('readinessProbe')
  })

  test.each([
    { name: 'may run as root', spec: { securityContext: { seccompProfile: seccomp() } } },
    { name: 'is root', spec: { securityContext: { ...nonRoot(), runAsUser: 0 } } },
    { name: 'has no seccomp profile', spec: { securityContext: { runAsNonRoot: true } } },
    { name: 'uses the host network', spec: { hostNetwork: true } },
    {
      name: 'mounts a host path',
      volume: { name: 'host', hostPath: { path: '/' } },
    },
    { name: 'may escalate privileges', container: { allowPrivilegeEscalation: true } },
    { name: 'keeps capabilities', container: { capabilities: {} } },
  ])('that $name is refused', async ({ spec, container, volume }) => {
    const { code, body } = await make(changed(template, spec, container, volume))
    expect(code).toBe(403)
    expect(body.message).toContain('violates PodSecurity "restricted:v1.36"')
  })
})

function seccomp() {
  return { type: 'RuntimeDefault' }
}
function nonRoot() {
  return { runAsNonRoot: true, seccompProfile: seccomp() }
}

function changed(
  template: Template,
  spec: object = {},
  security: object = {},
  volume?: object,
): Template {
  const [container] = template.spec.containers
  const securityContext = { ...container.securityContext, ...security }
  const containers: PodSpec['containers'] = [{ ...container, securityContext }]
  const volumes = [...(template.spec.volumes ?? []), ...(volume === undefined ? [] : [volume])]
  return { ...template, spec: { ...template.spec, volumes, containers, ...spec } }
}

function make({ metadata, spec }: Template) {
  const named = { ...metadata, name: uniqueName('pod') }
  return plane.raw<Made>('POST', PODS, { apiVersion: 'v1', kind: 'Pod', metadata: named, spec })
}

function templatesIn(yaml: string): readonly Template[] {
  return objectsIn(yaml)
    .filter(({ kind }) => kind === 'Deployment')
    .map(({ spec }) => (spec as { readonly template: Template }).template)
}

function of(templates: readonly Template[] | undefined, name: string): Template {
  const found = templates?.find(({ spec }) => spec.containers[0].name === name)
  if (found === undefined) throw new Error(`there is no Deployment of the ${name}`)
  return found
}
