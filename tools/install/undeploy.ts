// `make undeploy`: objects before operator, so that nothing hangs.
//
//   claims, keys, tokens,
//   users and teams   deleted, and waited for while the operator takes its finalizer off. When it does
//                     not, this says so, says what that means, and takes the finalizer off itself
//   Deployments       deleted, and waited for until their pods are gone
//   the rest          the objects of config/default and config/sign-in, CRDs and namespace included, then remaining roles,
//                     bindings and policies with the label of the product, and waited for
//
// A missing object is not an error: it may run again, and on the rest of an installation.
import { join } from 'node:path'
import { clusterText, must } from './kubectl.ts'
import {
  countText,
  deleteAll,
  type Held,
  heldObjects,
  isClaim,
  isOurs,
  isToken,
  letGo,
} from './objects.ts'
import { PATIENCE_MS, whileItMoves } from './patience.ts'
import { CONFIG, DEPLOYMENTS, NAMESPACE, SELECTOR, onlyInOurs } from './product.ts'

type Say = (line: string) => void

/**
 * Kinds that live outside our namespace, in components and in what earlier versions had. A binding that
 * stays gives its rights to any later account of that name in a namespace of that name.
 */
const LABELLED = [
  'clusterrolebindings,clusterroles,rolebindings,roles',
  'validatingadmissionpolicybindings,validatingadmissionpolicies',
].join()
const ALL_OF_OURS = [LABELLED, '--all-namespaces', '-l', SELECTOR] as const
const IN_NAMESPACE = ['--namespace', NAMESPACE, '--ignore-not-found']

/** Removes the product from the cluster. @throws Error with the objects that stay, and why */
export async function undeploy(say: Say): Promise<void> {
  say(`taking the operator out of ${await clusterText()}`)
  await onlyInOurs()
  await removeObjects(say)
  await removeWorkloads(say)
  await removeRest(say)
  say('done: nothing of the operator is left')
}

async function removeObjects(say: Say): Promise<void> {
  const held = await heldObjects()
  if (held.length === 0) return
  say(`deleting ${countText(held)}, and waiting for the operator to end them`)
  await deleteAll(held)
  const left = await whileItMoves(heldObjects)
  const orphans = left.filter(isOurs)
  if (orphans.length > 0) {
    say(await deadText(orphans))
    await letGo(orphans)
  } else if (held.some(isToken)) {
    say(`tokens are recorded as revoked, in a list that ends with the gateway. ${meaningOf(held)}`)
  }
  const stuck = orphans.length > 0 ? await whileItMoves(heldObjects) : left
  if (stuck.length === 0) return
  const advice = 'others hold these; run it again when their finalizers are gone:'
  throw new Error([advice, ...stuck.map(holdersOf)].join('\n'))
}

async function deadText(orphans: readonly Held[]): Promise<string> {
  const still = `nothing has moved for ${PATIENCE_MS / 1000} s`
  const needed = [
    ...(orphans.every(isClaim) ? [] : ['manager']),
    ...(orphans.some(isClaim) ? ['delivery'] : []),
  ]
  const states = await Promise.all(needed.map(readyText))
  return [
    `THE OPERATOR DOES NOT ANSWER: ${still}, and ${states.join(', and ')}.`,
    `Taking its finalizer off ${countText(orphans)} without it.`,
    `No operator records tokens under these as revoked. ${meaningOf(orphans)}`,
  ].join('\n')
}

async function readyText(deployment: string): Promise<string> {
  const path = '{.status.readyReplicas}/{.spec.replicas}'
  const args = ['get', 'deployment', deployment, ...IN_NAMESPACE, '-o', `jsonpath=${path}`]
  const found = await must(args)
  if (found === '') return `there is no Deployment ${deployment}`
  const [ready, wanted] = found.split('/')
  return `${ready === '' ? 0 : ready} of ${wanted} replicas of Deployment ${deployment} are ready`
}

/** Consequence for the tokens that were issued. */
function meaningOf(held: readonly Held[]): string {
  const ends = held.filter(isToken).map(({ expires }) => expires)
  const last = ends.toSorted().at(-1) ?? ''
  const until = last === '' ? 'until its exp' : `until its exp, here ${last} at the latest`
  return (
    `API servers that verify on their own accept a token that they do not know as revoked ${until}; ` +
    'to end all at once, take the issuer out of their authentication files ' +
    '(docs/direct-api-server.md, break-glass).'
  )
}

const holdersOf = ({ kind, namespace, name, finalizers }: Held): string => {
  const place = namespace === '' ? '' : ` in namespace ${namespace}`
  return `  ${kind}/${name}${place}: ${finalizers.join(', ')}`
}

async function removeWorkloads(say: Say): Promise<void> {
  const wait = ['--cascade=foreground', '--timeout=2m']
  sayIfAny(say, await must(['delete', 'deployment', ...DEPLOYMENTS, ...IN_NAMESPACE, ...wait]))
}

async function removeRest(say: Say): Promise<void> {
  const parts = ['default', 'target-namespace', 'sign-in'].map((part) =>
    must(['kustomize', join(CONFIG, part)]),
  )
  const manifests = (await Promise.all(parts)).join('---\n')
  const each = ['-f', '-', '--ignore-not-found']
  sayIfAny(say, await must(['delete', ...each, '--wait=false'], manifests))
  const more = await namesOf(['get', ...ALL_OF_OURS])
  const quietly = ['--ignore-not-found', '--wait=false']
  if (more.length > 0) sayIfAny(say, await must(['delete', ...ALL_OF_OURS, ...quietly]))
  const left = await whileItMoves(async () => {
    // Made meanwhile, by a tool for instance: the operator that takes the finalizer off is gone.
    const late = (await heldObjects()).filter(isOurs)
    if (late.length > 0) say(`taking the finalizer off late ones too: ${countText(late)}`)
    await letGo(late)
    const listed = await namesOf(['get', ...each], manifests)
    return [...new Set([...listed, ...(await namesOf(['get', ...ALL_OF_OURS]))])]
  })
  if (left.length > 0) throw new Error(await stuckText(left))
}

async function namesOf(args: readonly string[], input = ''): Promise<readonly string[]> {
  return (await must([...args, '-o', 'name'], input)).split('\n').filter(Boolean)
}

async function stuckText(left: readonly string[]): Promise<string> {
  const path = '{range .status.conditions[*]}{.message}{"\\n"}{end}'
  const why = await must([
    'get',
    'namespace',
    NAMESPACE,
    '--ignore-not-found',
    '-o',
    `jsonpath=${path}`,
  ])
  const held = (await heldObjects()).map(holdersOf)
  return ['these do not go:', ...left, ...held, why.trim()].join('\n').trimEnd()
}

function sayIfAny(say: Say, text: string): void {
  if (text !== '') say(text.trimEnd())
}
