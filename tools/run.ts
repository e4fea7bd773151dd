// `make run`: a real control plane with the operator and the samples on it, to look at. The data
// stays in .run, so the next run goes on where this one ended; `make clean` forgets it. With --watch, which is `make dev`,
// a change of src/ restarts the programs; DEBUG=gateway opens an inspector of that command.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { GATEWAY_TLS_SECRET } from '../src/api/names.ts'
import { ensureBinaries } from './control-plane/binaries.ts'
import { type ControlPlane, startControlPlane } from './control-plane/control-plane.ts'
import { mustKubectl } from './control-plane/kubectl.ts'
import { choosePort } from './control-plane/ports.ts'
import type { Kubelet } from './kubelet/kubelet.ts'
import { NODE_FLAGS } from './node-flags.ts'
import { type ConnectedCluster, startConnectedCluster } from './run/connected-cluster.ts'
import { keepDaemons } from './run/daemons.ts'
import { debuggedCommands, inspectorAddress, onSettledChange } from './run/development.ts'
import { type KeptDirectEndpoint, startDirectEndpoint } from './run/direct.ts'
import { mustHaveSpace } from './run/disk-space.ts'
import { writeKeyKubeconfigs } from './run/key-kubeconfigs.ts'
import { type KeptProgram, keepProgram } from './run/program.ts'
import { applySamples, claimsIn, samplesIn } from './run/samples.ts'
import { startSecretStore } from './run/secret-store.ts'
import { keepSignIn, prepareSignIn, signInAccount, startIdentityProvider } from './run/sign-in.ts'
import { LOCAL_TARGETS, startTarget } from './run/target.ts'
import { countSampleKeys, tourText } from './run/tour.ts'
import { startVirtualCluster } from './run/virtual-cluster.ts'

const ROOT = resolve(import.meta.dirname, '..')
const MAIN = join(ROOT, 'src/main.ts')
const NAMESPACE = 'platform-system'
/** Another folder than .run serves a second run at the same time, such as the test of the tour. */
const HOME = resolve(process.env['RUN_DIR'] ?? join(ROOT, '.run'))
const DATA = join(HOME, 'control-plane')
const FOLDERS = { root: ROOT, home: HOME, main: MAIN }
/** The CA of the gateway's certificate, for browsers and terminals. */
const GATEWAY_CA_FILE = join(HOME, 'gateway-ca.crt')

const say = (line: string): void => console.log(line)

let isReady = false
const stopped = new Promise<void>((stop) => {
  // `on`, not `once`: make and the terminal may both send the signal, and the second must not cut the stop short.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (isReady) return stop()
      // Whatever has been started ends with this process: see control-plane.ts and tether.ts.
      console.error(`${signal} before it was ready: ending`)
      process.exit(128 + constants.signals[signal])
    })
  }
})

async function main(): Promise<void> {
  sayInspectors()
  mkdirSync(HOME, { recursive: true, mode: 0o700 })
  await mustHaveSpace(HOME)
  const controlPlane = await startControlPlane({ dataDir: DATA, log: say })
  try {
    await install(controlPlane)
    await serve(controlPlane)
  } finally {
    await controlPlane.stop()
  }
}

/** Prints the inspector addresses of the commands that DEBUG names. */
function sayInspectors(): void {
  const { commands, unknown } = debuggedCommands(process.env['DEBUG'])
  for (const command of commands)
    say(`the inspector of ${command} listens on ${inspectorAddress(command)}, without a password`)
  if (unknown.length > 0)
    say(
      `DEBUG names commands: manager, gateway, delivery, sign-in, direct, syncer; not ${unknown.join(', ')}`,
    )
}

/** A part of this run that ends with it. */
interface Stoppable {
  stop(): Promise<void>
}

/** Adds a part to those that end with this run, the last one first. @returns the part */
type Keep = <Part extends Stoppable>(part: Part) => Part

async function serve(controlPlane: ControlPlane): Promise<void> {
  const kept: Stoppable[] = []
  const keep: Keep = (part) => {
    kept.push(part)
    return part
  }
  try {
    const platform = await startPlatform(controlPlane, keep)
    const isFirst = await applySamples({
      management: controlPlane,
      folders: FOLDERS,
      marker: join(DATA, 'samples-applied'),
      log: say,
    })
    const store = await startSecretStore({ management: controlPlane, folders: FOLDERS, log: say })
    if (store) keep(store)
    keep(await startIdentityProvider(signInOptions(controlPlane), platform.url))
    const { port } = platform
    const caPem = await gatewayCa(controlPlane)
    writeFileSync(GATEWAY_CA_FILE, caPem)
    const kubeconfigs = await writeKeyKubeconfigs(controlPlane, { home: HOME, port, caPem }, say)
    const issuer = { url: platform.issuer, caPem }
    const cluster = await startCluster(controlPlane, issuer, keep)
    await writeEnvironment(controlPlane)
    isReady = true
    const { connected, direct, syncer } = cluster
    const { operator, gateway, delivery, signIn, url } = platform
    const metrics = {
      operator,
      gateway,
      'delivery process': delivery,
      'sign-in process': signIn,
      'direct endpoint': direct,
      syncer,
    }
    const samples = isFirst ? countSampleKeys(samplesIn(FOLDERS)) : null
    const account = await signInAccount(HOME)
    const signingIn = account && { ...account, url, caFile: GATEWAY_CA_FILE }
    const claims = claimsIn(FOLDERS)
    say(
      tourText({
        home: HOME,
        samples,
        claims,
        store,
        kubeconfigs,
        signingIn,
        connected,
        direct,
        metrics,
      }),
    )
    if (process.argv.includes('--watch'))
      keep(restartOnChange([operator, gateway, delivery, signIn, direct, syncer]))
    await keepUntilStopped(controlPlane, cluster)
    say('stopping everything')
  } finally {
    for (const part of kept.toReversed()) await part.stop()
  }
}

/** Operator, gateway, delivery and sign-in process, all ready, with the gateway's port, URL and issuer. */
interface Platform {
  readonly port: number
  readonly url: string
  readonly issuer: string
  readonly operator: KeptProgram
  readonly gateway: KeptProgram
  readonly delivery: KeptProgram
  readonly signIn: KeptProgram
}

async function startPlatform(controlPlane: ControlPlane, keep: Keep): Promise<Platform> {
  const port = await choosePort(join(HOME, 'gateway-port'), say)
  const url = `https://127.0.0.1:${port}`
  const issuer = `${url}/oidc`
  const issuerFlag = `--issuer-url=${issuer}`
  const operator = await keepCommand(controlPlane, OPERATOR, [issuerFlag])
  keep(operator)
  const signingIn = signInOptions(controlPlane)
  const address = await prepareSignIn(signingIn)
  const gateway = await keepCommand(controlPlane, GATEWAY, [
    issuerFlag,
    `--bind-address=127.0.0.1:${port}`,
    ...LOCAL_TARGETS,
    ...address.gatewayFlags,
  ])
  keep(gateway)
  const delivery = await keepCommand(controlPlane, DELIVERY, [
    '--leader-elect',
    `--gateway-url=${url}`,
  ])
  keep(delivery)
  const signIn = keep(await keepSignIn(signingIn, address, url))
  await Promise.all([operator, gateway, delivery, signIn].map((program) => program.ready()))
  return { port, url, issuer, operator, gateway, delivery, signIn }
}

const signInOptions = (management: ControlPlane): Parameters<typeof prepareSignIn>[0] => ({
  management,
  folders: FOLDERS,
  log: say,
})

/** The connected cluster with the programs that serve it. `node` is null where none can be started. */
interface Cluster {
  readonly connected: ConnectedCluster
  readonly direct: KeptDirectEndpoint
  readonly node: Kubelet | null
  readonly syncer: KeptProgram
}

/** Starts the connected cluster. @param issuer its URL, and the CA of its certificate in PEM */
async function startCluster(
  management: ControlPlane,
  issuer: { readonly url: string; readonly caPem: string },
  keep: Keep,
): Promise<Cluster> {
  say('starting a connected cluster: a stock kube-apiserver that verifies tokens')
  const shipped = join(ROOT, 'config/direct-endpoint')
  const { url, caPem } = issuer
  const connected = keep(
    await startConnectedCluster({ home: HOME, shipped, issuer: url, caPem, log: say }),
  )
  const { plane, caPem: clusterCaPem } = connected
  const folders = FOLDERS
  say('starting its direct endpoint, which its API server asks before RBAC')
  const direct = keep(
    await startDirectEndpoint({ management, cluster: connected, issuer: url, folders, log: say }),
  )
  say(
    'connecting that cluster to the gateway, with a node that runs pods as processes of this machine',
  )
  const node = await startTarget({ management, cluster: plane, clusterCaPem, folders, log: say })
  if (node) keep(node)
  say('starting the syncer: the connected cluster is also a virtual cluster of the first')
  const virtual = { host: management, virtual: plane, folders, log: say }
  const syncer = keep(await startVirtualCluster(virtual))
  await syncer.ready()
  return { connected, direct, node, syncer }
}

/** Restarts daemons that end, until a signal stops this run. */
async function keepUntilStopped(
  { etcd, apiServer, controllerManager }: ControlPlane,
  { connected, node }: Cluster,
): Promise<void> {
  const clusterDaemons = [...connected.daemons, ...(node ? [node] : [])]
  const keepers = [
    keepDaemons('the control plane', [etcd, apiServer, controllerManager], say),
    keepDaemons('the connected cluster', clusterDaemons, say),
  ]
  await stopped
  for (const keeper of keepers) await keeper.stop()
}

/** Restarts programs when a source of theirs changes. */
function restartOnChange(programs: readonly KeptProgram[]): Stoppable {
  const end = onSettledChange(join(ROOT, 'src'), () => {
    say('src/ has changed, restarting the programs')
    for (const program of programs) program.restart()
  })
  return { stop: async () => end() }
}

/** A command, with the name of its log and its title in messages. */
interface Command {
  readonly command: 'manager' | 'gateway' | 'delivery'
  readonly name: string
  readonly title: string
}

const OPERATOR: Command = { command: 'manager', name: 'operator', title: 'the operator' }
const GATEWAY: Command = { command: 'gateway', name: 'gateway', title: 'the gateway' }
const DELIVERY: Command = { command: 'delivery', name: 'delivery', title: 'the delivery process' }

/** Keeps a command running as its ServiceAccount. */
const keepCommand = (
  controlPlane: ControlPlane,
  { command, name, title }: Command,
  flags: readonly string[],
): Promise<KeptProgram> =>
  keepProgram({
    command,
    accounts: [{ flag: '--kubeconfig', access: controlPlane, namespace: NAMESPACE, name: command }],
    title,
    flags,
    main: MAIN,
    logFile: join(HOME, `${name}.log`),
    pidFile: join(HOME, `${name}.pid`),
    log: say,
  })

/** The CA in the Secret with the gateway's self-issued certificate, PEM. */
async function gatewayCa(controlPlane: ControlPlane): Promise<string> {
  const secret = ['get', 'secret', GATEWAY_TLS_SECRET, '-n', NAMESPACE]
  const encoded = await kubectl(controlPlane, ...secret, '-o', 'jsonpath={.data.ca\\.crt}')
  return Buffer.from(encoded, 'base64').toString('utf8')
}

const kubectl = (controlPlane: ControlPlane, ...args: readonly string[]): Promise<string> =>
  mustKubectl(controlPlane, args)

async function install(controlPlane: ControlPlane): Promise<void> {
  say('installing CRDs, policies and RBAC: kubectl apply --server-side -k config/base')
  for (const part of ['base', 'target-namespace', 'sign-in-namespace'])
    await kubectl(controlPlane, 'apply', '--server-side', '-k', join(ROOT, 'config', part))
  const ours = ['crd', '-l', 'app.kubernetes.io/part-of=management-operator']
  await kubectl(controlPlane, 'wait', '--for=condition=Established', '--timeout=30s', ...ours)
}

/** What `. .run/env` sets: kubectl of the control plane's version, its kubeconfig, and our program. */
async function writeEnvironment(controlPlane: ControlPlane): Promise<void> {
  const { kubectl: kubectlPath } = await ensureBinaries(say)
  const bin = join(HOME, 'bin')
  mkdirSync(bin, { recursive: true })
  const wrapper = join(bin, 'management-operator')
  writeFileSync(
    wrapper,
    `#!/bin/sh\nexec '${process.execPath}' ${NODE_FLAGS.join(' ')} '${MAIN}' "$@"\n`,
  )
  chmodSync(wrapper, 0o755)
  const lines = [
    `export KUBECONFIG='${controlPlane.adminKubeconfig}'`,
    `export PATH='${bin}':'${dirname(kubectlPath)}':"$PATH"`,
  ]
  writeFileSync(join(HOME, 'env'), `${lines.join('\n')}\n`)
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

try {
  await main()
} catch (error) {
  console.error(messageOf(error))
  process.exit(1)
}
