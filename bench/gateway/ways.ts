// The ways to one API server: straight to it, through the gateway, and through each proxy to compare with.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { OwnGateway } from '../../test/support/gateway-process.ts'
import { mustKubectl } from '../../test/support/kubectl.ts'
import { issueClient, issueServing } from '../../tools/control-plane/certificates.ts'
import { paths } from '../../tools/control-plane/commands.ts'
import type { ControlPlane } from '../../tools/control-plane/control-plane.ts'
import { readKeyPair } from '../../tools/control-plane/pki.ts'
import { type Running, startPeer } from '../measure/peer-process.ts'
import { type RunningProduct, freePort } from '../product.ts'
import { ACCOUNT, DELEGATE, GROUP, USER, configMapPath } from './objects.ts'
import { type ProxyOptions, startProxy } from './proxies.ts'
import { answersWith } from './request.ts'
import type { Way, WayName } from './way.ts'

/** The ways that could be started. */
export interface Ways {
  readonly ways: readonly Way[]
  /** The reason for each way that could not be started. */
  readonly missing: Readonly<Partial<Record<WayName, string>>>
  /** Starts one more gateway or delegate, which has served nobody yet. `await using` stops it. */
  readonly startAnother: (name: WayName) => Promise<Way & AsyncDisposable>
  stop(): Promise<void>
}

/** Options of startWays. */
export interface WaysOptions {
  readonly plane: ControlPlane
  readonly product: RunningProduct
  /** The Go programs. */
  readonly programs: Readonly<Record<'load' | 'delegate', string>>
  /** The key of callers of the gateway. */
  readonly key: string
  /** A folder for files of the proxies, credentials among them, that only its owner can read. */
  readonly folder: string
  readonly log: (line: string) => void
}

/** Starts all ways. A way that is not available is missing. @throws Error when the API server refuses a token */
export async function startWays(options: WaysOptions): Promise<Ways> {
  const { plane, log } = options
  const files = await writeFiles(options)
  const running: Running[] = []
  const missing: Partial<Record<WayName, string>> = {}
  const ways = [directWay(plane, files), gatewayWay(options.product.gateway, files)]
  for (const name of ['delegate', 'nginx', 'haproxy'] as const) {
    try {
      const { way, process } = await startProxyWay(name, options, files)
      running.push(process)
      ways.push(way)
    } catch (error) {
      missing[name] = error instanceof Error ? error.message : String(error)
      log(`${name} is not measured: ${missing[name]}`)
    }
  }
  const stop = async (): Promise<void> => {
    for (const one of running) await one.stop()
  }
  return { ways, missing, startAnother: (name) => startAnother(name, options, files), stop }
}

type Files = Readonly<
  Record<'cert' | 'key' | 'servingCert' | 'servingKey' | 'pair' | 'token' | 'ca' | 'bearer', string>
>

/** Writes certificates and credentials. */
async function writeFiles({ plane, product, key, folder }: WaysOptions): Promise<Files> {
  const authority = await readKeyPair(paths.pki(plane.dataDir), 'ca')
  const client = issueClient(authority, { user: USER, groups: [GROUP] })
  const serving = issueServing(authority, ['localhost', '127.0.0.1'])
  const { namespace, name } = ACCOUNT
  const token = ['create', 'token', name, '--namespace', namespace, '--duration=24h']
  const write = async (file: string, content: string): Promise<string> => {
    await writeFile(join(folder, file), content, { mode: 0o600 })
    return join(folder, file)
  }
  return {
    cert: await write('client.crt', client.certificatePem),
    key: await write('client.key', client.keyPem),
    servingCert: await write('serving.crt', serving.certificatePem),
    servingKey: await write('serving.key', serving.keyPem),
    pair: await write('serving.pem', `${serving.certificatePem}\n${serving.keyPem}`),
    token: await write('token', await mustKubectl(plane, token)),
    ca: await write('gateway-ca.crt', product.caPem),
    bearer: await write('bearer', key),
  }
}

const directWay = ({ url, caFile }: ControlPlane, { cert, key }: Files): Way => ({
  name: 'direct',
  url,
  caFile,
  credential: [`--cert=${cert}`, `--key=${key}`],
  pid: null,
})

const gatewayWay = (gateway: OwnGateway, { ca, bearer }: Files): Way => ({
  name: 'gateway',
  url: `${gateway.url()}/kubernetes/management`,
  caFile: ca,
  credential: [`--token-file=${bearer}`],
  pid: gateway.pid,
})

async function startAnother(
  name: WayName,
  options: WaysOptions,
  files: Files,
): Promise<Way & AsyncDisposable> {
  if (name === 'gateway') {
    const gateway = await options.product.startAnotherGateway()
    const stop = async (): Promise<void> => void (await gateway.stop())
    return { ...gatewayWay(gateway, files), [Symbol.asyncDispose]: stop }
  }
  if (name !== 'delegate') throw new Error(`${name} runs once`)
  const { way, process } = await startProxyWay(name, options, files)
  return { ...way, [Symbol.asyncDispose]: () => process.stop() }
}

/** The way through a proxy whose certificate the API server's CA signed. */
async function startProxyWay(
  name: 'delegate' | 'nginx' | 'haproxy',
  options: WaysOptions,
  files: Files,
): Promise<{ readonly way: Way; readonly process: Running }> {
  const { plane, programs, folder, log } = options
  const port = await freePort()
  const way = {
    name,
    url: `https://127.0.0.1:${port}`,
    caFile: plane.caFile,
    credential: [`--token-file=${files.token}`],
    pid: null,
  }
  const small = { path: configMapPath('small'), status: 200 }
  const proxy: ProxyOptions = {
    port,
    upstream: new URL(plane.url).host,
    caFile: plane.caFile,
    certificateFile: files.servingCert,
    keyFile: files.servingKey,
    pairFile: files.pair,
    folder,
    answers: () => answersWith(programs.load, way, small),
    log,
  }
  const process = await (name === 'delegate'
    ? startDelegate(programs.delegate, plane, proxy)
    : startProxy(name, proxy))
  return { way: { ...way, pid: process.pid }, process }
}

/** It asks the API server who its callers are and what they may do, and acts as itself. */
async function startDelegate(
  program: string,
  plane: ControlPlane,
  { port, certificateFile, keyFile }: ProxyOptions,
): Promise<Running> {
  const kubeconfig = await plane.serviceAccountKubeconfig(DELEGATE.namespace, DELEGATE.name)
  return startPeer(program, [
    `--kubeconfig=${kubeconfig}`,
    `--listen=127.0.0.1:${port}`,
    `--cert=${certificateFile}`,
    `--key=${keyFile}`,
  ])
}
