// `make run`: a real control plane with the operator and the samples on it, to look at. The data
// stays in .run, so the next run goes on where this one ended; `make clean` forgets it.
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { ACCESS_KEYS, API_VERSION, GATEWAY_TLS_SECRET, TOKENS } from '../src/api/names.ts'
import { ensureBinaries } from './control-plane/binaries.ts'
import { type ControlPlane, startControlPlane } from './control-plane/control-plane.ts'
import { mustKubectl } from './control-plane/kubectl.ts'
import { choosePort } from './control-plane/ports.ts'
import { NODE_FLAGS } from './node-flags.ts'
import { type ConnectedCluster, startConnectedCluster } from './run/connected-cluster.ts'
import { keepDaemons } from './run/daemons.ts'
import { startDirectEndpoint } from './run/direct.ts'
import {
  type GatewayAddress,
  TOUR_KEYS,
  tourKubeconfig,
  writeTourKubeconfig,
} from './run/gateway.ts'
import { type ProgramOptions, keepProgram } from './run/program.ts'
import { LOCAL_TARGETS, startTarget, writeClusterKubeconfig } from './run/target.ts'
import { configFile, startVirtualCluster } from './run/virtual-cluster.ts'

const ROOT = resolve(import.meta.dirname, '..')
const MAIN = join(ROOT, 'src/main.ts')
const SAMPLES = join(ROOT, 'config/samples')
/** Another folder than .run serves a second run at the same time, such as the test of the tour. */
const NAMESPACE = 'platform-system'
const HOME = resolve(process.env['RUN_DIR'] ?? join(ROOT, '.run'))
const DATA = join(HOME, 'control-plane')
/** Beside the data, so that it goes when they do. */
const SAMPLES_APPLIED = join(DATA, 'samples-applied')

const say = (line: string): void => console.log(line)

let isReady = false
const stopped = new Promise<void>((stop) => {
  // Not once: make and the terminal may both send it, and a second one must not cut the stop short.
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
  mkdirSync(HOME, { recursive: true, mode: 0o700 })
  const controlPlane = await startControlPlane({ dataDir: DATA, log: say })
  try {
    await install(controlPlane)
    await serve(controlPlane)
  } finally {
    await controlPlane.stop()
  }
}

async function serve(controlPlane: ControlPlane): Promise<void> {
  const port = await choosePort(join(HOME, 'gateway-port'))
  const issuer = `https://127.0.0.1:${port}/oidc`
  const kept: { stop(): Promise<void> }[] = []
  try {
    const operator = await keepProgram({
      ...programOf(controlPlane, 'manager', 'operator'),
      flags: [`--issuer-url=${issuer}`],
    })
    kept.push(operator)
    const gateway = await keepProgram({
      ...programOf(controlPlane, 'gateway', 'gateway'),
      flags: [`--issuer-url=${issuer}`, `--bind-address=127.0.0.1:${port}`, ...LOCAL_TARGETS],
    })
    kept.push(gateway)
    await Promise.all([operator.ready(), gateway.ready()])
    const isFirst = !existsSync(SAMPLES_APPLIED)
    if (isFirst) await applySamples(controlPlane)
    const caPem = await gatewayCa(controlPlane)
    if (isFirst) await openGateway(controlPlane, { home: HOME, port, caPem })
    const clusterKubeconfig = await openCluster(controlPlane, { port, caPem })
    say('starting a connected cluster: a stock kube-apiserver that verifies tokens')
    const connected = await startConnectedCluster({
      home: HOME,
      shipped: join(ROOT, 'config/direct-endpoint'),
      issuer,
      caPem,
      log: say,
    })
    kept.push(connected)
    say('starting its direct endpoint, which its API server asks before RBAC')
    const direct = await startDirectEndpoint({
      cluster: connected,
      issuer,
      root: ROOT,
      home: HOME,
      main: MAIN,
      log: say,
    })
    kept.push(direct)
    say(
      'connecting that cluster to the gateway, with a node that runs pods as processes of this machine',
    )
    const node = await startTarget({
      management: controlPlane,
      cluster: connected.plane,
      clusterCaPem: connected.caPem,
      root: ROOT,
      home: HOME,
      main: MAIN,
      log: say,
    })
    if (node) kept.push(node)
    say('starting the syncer: the connected cluster is also a virtual cluster of the first')
    const syncer = await startVirtualCluster({
      host: controlPlane,
      virtual: connected.plane,
      root: ROOT,
      home: HOME,
      program: { main: MAIN, log: say },
    })
    kept.push(syncer)
    await syncer.ready()
    await writeEnvironment(controlPlane)
    isReady = true
    sayTour(isFirst, { connected, direct: direct.kubeconfig, cluster: clusterKubeconfig })
    const { etcd, apiServer, controllerManager } = controlPlane
    const keeping = [
      keepDaemons('the control plane', [etcd, apiServer, controllerManager], say),
      keepDaemons('the connected cluster', [...connected.daemons, ...(node ? [node] : [])], say),
    ]
    await stopped
    for (const one of keeping) await one.stop()
    say('stopping everything')
  } finally {
    for (const one of kept.toReversed()) await one.stop()
  }
}

function programOf(
  controlPlane: ControlPlane,
  command: 'manager' | 'gateway',
  name: string,
): Omit<ProgramOptions, 'flags'> {
  return {
    command,
    accounts: [{ flag: '--kubeconfig', access: controlPlane, namespace: NAMESPACE, name: command }],
    title: `the ${name}`,
    main: MAIN,
    logFile: join(HOME, `${name}.log`),
    pidFile: join(HOME, `${name}.pid`),
    log: say,
  }
}

/** The gateway made its certificate itself, and keeps it in a Secret with the authority that signed it. */
async function gatewayCa(controlPlane: ControlPlane): Promise<string> {
  const secret = ['get', 'secret', GATEWAY_TLS_SECRET, '-n', NAMESPACE]
  const encoded = await kubectl(controlPlane, ...secret, '-o', 'jsonpath={.data.ca\\.crt}')
  return Buffer.from(encoded, 'base64').toString('utf8')
}

const kubectl = (controlPlane: ControlPlane, ...args: readonly string[]): Promise<string> =>
  mustKubectl(controlPlane, args)

async function install(controlPlane: ControlPlane): Promise<void> {
  say('installing CRDs, policies and RBAC: kubectl apply --server-side -k config/base')
  for (const part of ['base', 'target-namespace'])
    await kubectl(controlPlane, 'apply', '--server-side', '-k', join(ROOT, 'config', part))
  const ours = ['crd', '-l', 'app.kubernetes.io/part-of=management-operator']
  await kubectl(controlPlane, 'wait', '--for=condition=Established', '--timeout=30s', ...ours)
}

/** Once per data folder: later changes and deletions stay. */
async function applySamples(controlPlane: ControlPlane): Promise<void> {
  say('applying the samples: kubectl apply --server-side -k config/samples')
  await kubectl(controlPlane, 'apply', '--server-side', '-k', SAMPLES)
  writeFileSync(SAMPLES_APPLIED, '')
  await applyTokens(controlPlane)
  const seen = '--for=jsonpath={.status.conditions[?(@.type=="Ready")].reason}'
  await kubectl(controlPlane, 'wait', seen, '--timeout=30s', 'oak,dcet,config', '--all')
}

/** Writes the kubeconfigs with which a newcomer calls the gateway. */
async function openGateway(controlPlane: ControlPlane, address: GatewayAddress): Promise<void> {
  for (const name of TOUR_KEYS) {
    const secret = ['get', 'oak', name, '-o', 'jsonpath={.spec.key}']
    await writeTourKubeconfig(address, name, await kubectl(controlPlane, ...secret))
  }
}

/** Writes the kubeconfig of the connected cluster with the key that owns the sample token. @returns its path */
async function openCluster(
  controlPlane: ControlPlane,
  gateway: Pick<GatewayAddress, 'port' | 'caPem'>,
): Promise<string> {
  const key = ['get', 'oak', 'ci-deploy', '--ignore-not-found', '-o', 'jsonpath={.spec.key}']
  return writeClusterKubeconfig(HOME, gateway, await kubectl(controlPlane, ...key))
}

/** The tokens of the tour by name, with their scopes. */
const TOKENS_OF_CI = {
  'ci-direct': {},
  'ci-namespaces': {
    scope: { rules: [{ verbs: ['get', 'list'], resources: [{ resources: ['namespaces'] }] }] },
  },
} as const

/** Tokens under key ci-deploy, which is named by its uid: a manifest can't know that. */
async function applyTokens(controlPlane: ControlPlane): Promise<void> {
  const key = ['get', 'oak', 'ci-deploy', '-o', 'jsonpath={.metadata.uid}']
  const uid = await kubectl(controlPlane, ...key)
  const owner = { apiVersion: API_VERSION, kind: ACCESS_KEYS.kind, name: 'ci-deploy', uid }
  const items = Object.entries(TOKENS_OF_CI).map(([name, spec]) => ({
    apiVersion: API_VERSION,
    kind: TOKENS.kind,
    metadata: { name, ownerReferences: [{ ...owner, controller: true }] },
    spec,
  }))
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
  await mustKubectl(controlPlane, ['apply', '--server-side', '-f', '-'], { input })
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

/** The kubeconfigs that the tour names, besides those of its keys. */
interface TourKubeconfigs {
  readonly connected: ConnectedCluster
  /** That of the direct endpoint. */
  readonly direct: string
  /** That of the connected cluster through the gateway. */
  readonly cluster: string
}

function sayTour(isFirst: boolean, { connected, direct, cluster }: TourKubeconfigs): void {
  const { kubeconfig: stock, tokenFile, adminKubeconfig: virtual } = connected
  const what = isFirst
    ? `a control plane with the operator and ${sampleKeys()} sample keys`
    : 'the control plane as the last run left it, with the operator'
  const look = isFirst ? '\n  kubectl describe oak one-minute' : ''
  const [good, scoped] = TOUR_KEYS.map((key) => tourKubeconfig(HOME, key))
  const tokens = `
Through the gateway: with a key, with one whose scope says no, and a watch that ends when its key is disabled:

  kubectl --kubeconfig ${good} auth whoami
  kubectl --kubeconfig ${scoped} get secrets
  (sleep 5; kubectl patch oak laptop-cli --type=merge -p '{"spec":{"disabled":true}}') & kubectl --kubeconfig ${good} get config --watch

Through the gateway to a connected cluster, and into a pod there, for as long as key ci-deploy is good:

  kubectl --kubeconfig ${cluster} get pods
  kubectl --kubeconfig ${cluster} exec -it web -- sh
  kubectl get events -n platform-system-targets

Straight to that cluster with a token from status.token: through the direct endpoint, and to its stock API server, which
asks the direct endpoint about scopes:

  kubectl get dcet ci-direct -o jsonpath='{.status.token}' > ${tokenFile}
  kubectl --kubeconfig ${direct} auth whoami
  kubectl --kubeconfig ${stock} auth whoami
  kubectl get dcet ci-namespaces -o jsonpath='{.status.token}' > ${tokenFile}
  kubectl --kubeconfig ${stock} get namespaces,pods

Refused by both after its key was disabled, within six seconds:

  kubectl patch oak ci-deploy --type=merge -p '{"spec":{"disabled":true}}'
  SECONDS=0; while kubectl --kubeconfig ${stock} get namespaces >/dev/null 2>&1; do sleep 0.2; done; echo "refused after \${SECONDS}s"
  kubectl --kubeconfig ${direct} get namespaces

Endpoints of a virtual cluster, patched on the host; change a patch in vcluster.yaml and watch them follow:

  kubectl --kubeconfig ${virtual} get endpoints database -n shop -o yaml
  kubectl get endpoints database-x-shop-x-my-vc -n vcluster-my-vc -o yaml
  sed -i 's/"shop-"/"store-"/' ${configFile(HOME)}; kubectl get endpoints -n vcluster-my-vc -o yaml --watch
`
  say(`
Ready: ${what}. In another terminal:

  . ${HOME}/env
  kubectl get oak${look}
  kubectl explain oak.spec
${isFirst ? tokens : ''}
docs/tour.md goes on from here. Ctrl-C ends it; the data stays in ${HOME}.`)
}

const sampleKeys = (): number =>
  readFileSync(join(SAMPLES, 'keys.yaml'), 'utf8').match(/^kind: OwnedAccessKey$/gm)?.length ?? 0

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

try {
  await main()
} catch (error) {
  console.error(messageOf(error))
  process.exit(1)
}
