// Every text field of a Service in the API server's schema, and its value on the host when a tenant sets it. A new field
// that can hold an address or a name fails this test until it has a row.
import { expect, test } from 'vitest'
import { nestedField } from '../../src/domain/json/field-path.ts'
import { type Json, type JsonMap, isList, isMap, ownValue } from '../../src/domain/json/json.ts'
import { TRANSLATORS } from '../../src/sync/kinds/translators.ts'
import { syncPlanes } from '../support/sync-world.ts'
import { context, settings, virtual } from '../unit/sync/translation.ts'

const { host } = await syncPlanes()

const METADATA_SERVICE = '169.254.169.254'

/** Fields that a tenant sets, and where the host object would have them. */
interface Tried {
  /** Other fields that the API server requires beside the field, such as a type that uses it. */
  readonly given: JsonMap
  readonly at: readonly (string | number)[]
  /** undefined = the field is not written; null = the object is not written. */
  readonly host: Json | undefined
}

const ofSpec = (spec: JsonMap, name: string, onHost: Json | undefined): Tried => ({
  given: { spec },
  at: ['spec', name],
  host: onHost,
})

const balancer = (spec: JsonMap): JsonMap => ({ type: 'LoadBalancer', ...spec })
const port = (fields: JsonMap, name: string, onHost: Json): Tried => ({
  given: { spec: { ports: [{ port: 80, ...fields }] } },
  at: ['spec', 'ports', 0, name],
  host: onHost,
})
const ofStatus = (name: string): Tried => ({
  given: { spec: balancer({}), status: { loadBalancer: { ingress: [{ [name]: 'x' }] } } },
  at: ['status'],
  host: undefined,
})

/** Text fields that can hold an address or a name. */
const ADDRESSES_AND_NAMES: Readonly<Record<string, Tried>> = {
  'spec.clusterIP': ofSpec({ clusterIP: METADATA_SERVICE }, 'clusterIP', undefined),
  'spec.clusterIPs[*]': ofSpec({ clusterIPs: [METADATA_SERVICE] }, 'clusterIPs', undefined),
  'spec.externalIPs[*]': ofSpec({ externalIPs: [METADATA_SERVICE] }, 'externalIPs', undefined),
  'spec.externalName': ofSpec(
    { type: 'ExternalName', externalName: METADATA_SERVICE },
    'externalName',
    null,
  ),
  'spec.loadBalancerIP': ofSpec(
    balancer({ loadBalancerIP: METADATA_SERVICE }),
    'loadBalancerIP',
    undefined,
  ),
  // The implementation that serves it, and the clients that may connect: neither is an address of a target.
  'spec.loadBalancerClass': ofSpec(
    balancer({ loadBalancerClass: 'a.example/b' }),
    'loadBalancerClass',
    'a.example/b',
  ),
  'spec.loadBalancerSourceRanges[*]': ofSpec(
    balancer({ loadBalancerSourceRanges: ['0.0.0.0/0'] }),
    'loadBalancerSourceRanges',
    ['0.0.0.0/0'],
  ),
  'spec.selector.*': {
    given: { spec: { selector: { app: 'web' } } },
    at: ['spec', 'selector'],
    host: {
      app: 'web',
      'vcluster.platform.sh/managed-by': 'vc',
      'vcluster.platform.sh/namespace': 'shop',
    },
  },
  // Of its own Pods.
  'spec.ports[*].name': port({ name: 'web' }, 'name', 'web'),
  'spec.ports[*].targetPort': port({ targetPort: 'http' }, 'targetPort', 'http'),
  'status.loadBalancer.ingress[*].hostname': ofStatus('hostname'),
  'status.loadBalancer.ingress[*].ip': ofStatus('ip'),
}

/** Texts of a closed set, and messages. */
const WORDS = [
  'spec.externalTrafficPolicy',
  'spec.internalTrafficPolicy',
  'spec.ipFamilies[*]',
  'spec.ipFamilyPolicy',
  'spec.ports[*].appProtocol',
  'spec.ports[*].protocol',
  'spec.sessionAffinity',
  'spec.trafficDistribution',
  'spec.type',
  'status.conditions[*].lastTransitionTime',
  'status.conditions[*].message',
  'status.conditions[*].reason',
  'status.conditions[*].status',
  'status.conditions[*].type',
  'status.loadBalancer.ingress[*].ipMode',
  'status.loadBalancer.ingress[*].ports[*].error',
  'status.loadBalancer.ingress[*].ports[*].protocol',
]

test('each text of a Service that holds an address or a name has a check (18.6)', async () => {
  const { body } = await host.raw<JsonMap>('GET', '/openapi/v3/api/v1')
  const schemas = nestedField(body, ['components', 'schemas']) ?? {}
  if (!isMap(schemas)) throw new Error('it has no schemas')
  const service = schemas['io.k8s.api.core.v1.Service'] ?? null
  const properties = isMap(service) ? ownValue(service, 'properties') : null
  if (!isMap(properties ?? null)) throw new Error('there is no Service')
  const { spec = null, status = null, ...others } = properties as JsonMap
  expect(Object.keys(others).toSorted((a, b) => a.localeCompare(b))).toEqual([
    'apiVersion',
    'kind',
    'metadata',
  ])
  const texts = [...textsIn(spec, 'spec', schemas), ...textsIn(status, 'status', schemas)]
  expect(new Set(texts)).toEqual(new Set([...Object.keys(ADDRESSES_AND_NAMES), ...WORDS]))
})

test.each(Object.entries(ADDRESSES_AND_NAMES))("a tenant's %s on the host (18.6)", (_, tried) => {
  const { services } = TRANSLATORS
  const { object } = services.check(
    services.toHost(virtual(tried.given), context()),
    settings(),
    context(),
  )
  expect(object === null ? null : nestedField(object, tried.at)).toEqual(tried.host)
})

/** The paths of all texts below a schema, as the API server describes them. */
function textsIn(schema: Json, at: string, schemas: JsonMap): readonly string[] {
  if (!isMap(schema)) return []
  const [whole] = isList(schema['allOf'] ?? null) ? (schema['allOf'] as readonly Json[]) : []
  const reference =
    schema['$ref'] ?? (isMap(whole ?? null) ? (whole as JsonMap)['$ref'] : undefined)
  if (typeof reference === 'string')
    return textsIn(schemas[reference.split('/').at(-1) ?? ''] ?? null, at, schemas)
  if (schema['type'] === 'string' || isList(schema['oneOf'] ?? null)) return [at]
  if (schema['type'] === 'array') return textsIn(schema['items'] ?? null, `${at}[*]`, schemas)
  const more = schema['additionalProperties'] ?? null
  const properties = schema['properties'] ?? {}
  return [
    ...(isMap(more) ? textsIn(more, `${at}.*`, schemas) : []),
    ...Object.entries(isMap(properties) ? properties : {}).flatMap(([name, one]) =>
      textsIn(one, `${at}.${name}`, schemas),
    ),
  ]
}
