// Everything that the gateway and the operator write, to whomever (contract 3.5; threats 2.6).
import { readFile } from 'node:fs/promises'
import type { JsonMap } from '../../../src/domain/json/json.ts'
import type { Audit, Mark } from '../../support/audit.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { GATEWAY_USER } from '../../support/installed.ts'
import type { Operator } from '../../support/observe.ts'

/** Texts by what they are. */
export type Sinks = Readonly<Record<string, string>>

/** What a program says, and how the machine shows it to others. */
export async function sinksOf(name: string, program: Operator): Promise<Sinks> {
  const { stdout, stderr } = program.output()
  const proc = (file: string): Promise<string> => readFile(`/proc/${program.pid}/${file}`, 'utf8')
  return {
    [`log of the ${name}`]: stdout + stderr,
    [`metrics of the ${name}`]: await program.metrics(),
    [`health of the ${name}`]: (await program.health('/readyz?verbose')).body,
    [`command line of the ${name}`]: await proc('cmdline'),
    [`environment of the ${name}`]: await proc('environ'),
  }
}

interface Discovery {
  readonly items: readonly {
    readonly metadata: { readonly name?: string }
    readonly versions: readonly {
      readonly version: string
      readonly resources?: readonly {
        readonly resource: string
        readonly verbs: readonly string[]
      }[]
    }[]
  }[]
}

const DISCOVERY = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
const METADATA = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'

/** What anybody may see who is let see objects at all. */
export async function storedSinks({ raw }: Pick<TestControlPlane, 'raw'>): Promise<Sinks> {
  const read = async (path: string, accept = 'application/json'): Promise<string> => {
    const { code, body } = await raw('GET', path, undefined, { headers: { accept } })
    if (code !== 200) throw new Error(`GET ${path}: ${code}`)
    return JSON.stringify(body)
  }
  const metadata: string[] = []
  for (const root of ['/api', '/apis']) {
    const { items } = JSON.parse(await read(root, DISCOVERY)) as Discovery
    for (const path of items.flatMap((group) => listsOf(root, group)))
      metadata.push(await read(path, METADATA))
  }
  const ours = '/apis/management.platform.sh/v1'
  return {
    'metadata of all objects': metadata.join('\n'),
    events: await read('/apis/events.k8s.io/v1/events'),
    Leases: await read('/apis/coordination.k8s.io/v1/leases'),
    ConfigMaps: await read('/api/v1/configmaps'),
    'status of keys': withoutHidden(await read(`${ours}/ownedaccesskeys`)),
    'status of tokens': withoutHidden(await read(`${ours}/directclusterendpointtokens`)),
    'status of Configs': withoutHidden(await read(`${ours}/configs`)),
  }
}

function listsOf(root: string, { metadata, versions }: Discovery['items'][number]): string[] {
  const group = metadata.name ? `/${metadata.name}` : ''
  const { version = '', resources = [] } = versions[0] ?? {}
  return resources
    .filter(({ verbs }) => verbs.includes('list'))
    .map(({ resource }) => `${root}${group}/${version}/${resource}`)
}

/** Without what people wrote there themselves, and without tokens, which are for whoever may read them. */
const withoutHidden = (list: string): string =>
  JSON.stringify(JSON.parse(list), (name, value: unknown) =>
    name === 'spec' || name === 'token' ? undefined : value,
  )

/** Resources that the API server logs whole at the highest level, secrets and all, whoever asks. */
const CREDENTIALS: ReadonlySet<unknown> = new Set([
  'ownedaccesskeys',
  'directclusterendpointtokens',
  'secrets',
  // By mistake, of which condition Invalid tells.
  'configs',
])

/**
 * The API server's audit log of all that the gateway asks, for others and for itself: bodies of credentials
 * apart, and why a patch of them was refused, which docs/security.md warns of.
 */
export async function auditSinks(audit: Audit, mark: Mark): Promise<Sinks> {
  const lines = await audit.linesSince(mark, GATEWAY_USER)
  const bodies: string[] = []
  const rest = lines.map((line) => {
    const event = JSON.parse(line) as JsonMap & { readonly objectRef?: JsonMap }
    if (!CREDENTIALS.has(event.objectRef?.['resource'])) return line
    const { requestObject, responseObject, responseStatus, ...others } = event
    bodies.push(JSON.stringify({ requestObject, responseObject, responseStatus }))
    return JSON.stringify(others)
  })
  return {
    'audit log of the gateway': rest.join('\n'),
    'audit log, bodies of credentials': bodies.join('\n'),
  }
}
