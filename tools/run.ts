// `make run`: a real control plane with the operator and the samples on it, to look at. The data
// stays in .run, so the next run goes on where this one ended; `make clean` forgets it.
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { ACCESS_KEYS, API_VERSION, GATEWAY_TLS_SECRET, TOKENS } from '../src/api/names.ts'
import { ensureBinaries } from './control-plane/binaries.ts'
import { type ControlPlane, startControlPlane } from './control-plane/control-plane.ts'
import { mustKubectl } from './control-plane/kubectl.ts'
import { choosePort } from './control-plane/ports.ts'
import { NODE_FLAGS } from './node-flags.ts'
import { startConnectedCluster } from './run/connected-cluster.ts'
import { keepDaemons } from './run/daemons.ts'
import { startDirectEndpoint } from './run/direct.ts'
import { mustHaveSpace } from './run/disk-space.ts'
import { writeKeyKubeconfigs } from './run/key-kubeconfigs.ts'
import { type ProgramOptions, keepProgram } from './run/program.ts'
import { LOCAL_TARGETS, startTarget } from './run/target.ts'
import { countSampleKeys, tourText } from './run/tour.ts'
import { startVirtualCluster } from './run/virtual-cluster.ts'

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
  await mustHaveSpace(HOME)
  const controlPlane = await startControlPlane({ dataDir: DATA, log: say })
  try {
    await install(controlPlane)
    await serve(controlPlane)
  } finally {
    await controlPlane.stop()
  }
}

async function serve(controlPlane: ControlPlane): Promise<void> {
  const port = await choosePort(join(HOME, 'gateway-port'), say)
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
    const kubeconfigs = await writeKeyKubeconfigs(controlPlane, { home: HOME, port, caPem }, say)
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
    const metrics = { operator, gateway, 'direct endpoint': direct, syncer }
    const samples = isFirst ? countSampleKeys(SAMPLES) : null
    say(tourText({ home: HOME, samples, kubeconfigs, connected, direct, metrics }))
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

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

try {
  await main()
} catch (error) {
  console.error(messageOf(error))
  process.exit(1)
}
