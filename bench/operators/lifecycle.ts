// The operator's requests for keys that a gateway creates, and for their deletion. Life has those for keys by kubectl.
import { callsFor, callsSince } from '../../test/support/api-calls.ts'
import { ISSUER } from '../../test/support/command-process.ts'
import { eventually } from '../../test/support/eventually.ts'
import { ask, startGateway } from '../../test/support/gateway-process.ts'
import { GATEWAY_ACCOUNT, OPERATOR_USER } from '../../test/support/installed-control-plane.ts'
import { KEYS_PATH, createAll, keyOf, newSecret } from '../gateway/objects.ts'
import type { Figures } from '../measure/rounds.ts'
import { settled } from '../measure/usage.ts'
import { servingCa } from '../product.ts'
import { type Testbed, startManager } from './comparators.ts'
import { removeSeeds } from './seed.ts'

const COUNT = 30
const CALLER = 'lifecycle-0'
const RESOURCE = 'ownedaccesskeys'
const SOON = { withinMs: 30_000 }

/** Creates keys by a gateway and deletes them. All requests for keys count, reads and tries that met a conflict too. */
export async function measureLifecycle(bed: Testbed): Promise<Figures> {
  const { plane, raw, audit } = bed
  const { namespace, name } = GATEWAY_ACCOUNT
  await using operator = await startManager(bed)
  await using gateway = await startGateway({
    kubeconfig: await plane.serviceAccountKubeconfig(namespace, name),
    flags: [`--issuer-url=${ISSUER}`],
  })
  const ca = await servingCa(plane)
  const secret = newSecret()
  await createAll(raw, KEYS_PATH, [keyOf(CALLER, secret)])
  const url = `${gateway.url()}/kubernetes/management${KEYS_PATH}`
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
  const create = async (): Promise<string> => {
    const { code, body } = await ask(url, { ca, method: 'POST', headers, body: '{}' })
    if (code !== 201) throw new Error(`a new key is answered ${code}: ${body}`)
    return (JSON.parse(body) as { readonly metadata: { readonly name: string } }).metadata.name
  }
  const callsOf = async (act: () => Promise<unknown>): Promise<number> => {
    await settled(operator.pid)
    const mark = await audit.mark()
    await act()
    await settled(operator.pid)
    return callsFor(await callsSince(audit, mark, OPERATOR_USER), RESOURCE) / COUNT
  }
  // The gateway learns of its caller by a watch.
  const names = [await eventually('a key is created', () => create().catch(() => undefined), SOON)]
  const gatewayCreateCalls = await callsOf(async () => {
    while (names.length <= COUNT) names.push(await create())
  })
  const [, ...deleted] = names
  const deleteCalls = await callsOf(async () => {
    for (const one of deleted) await raw('DELETE', `${KEYS_PATH}/${one}`)
  })
  await raw('DELETE', `${KEYS_PATH}/${names[0]}`)
  await removeSeeds(bed, 'lifecycle')
  return { gatewayCreateCalls, deleteCalls }
}
