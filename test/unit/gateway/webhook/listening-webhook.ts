// The webhook at a real socket, with its files of callers in a scratch folder.
import { once } from 'node:events'
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ConnectionOptions, TLSSocket } from 'node:tls'
import { onTestFinished } from 'vitest'
import { followCallerFiles } from '../../../../src/gateway/webhook/caller-files.ts'
import { webhookCallerCheck } from '../../../../src/gateway/webhook/callers.ts'
import {
  type WEBHOOK_OUTCOMES,
  WEBHOOK_PATH,
  createWebhook,
} from '../../../../src/gateway/webhook/handler.ts'
import type { WebhookContext } from '../../../../src/gateway/webhook/subject-access-review.ts'
import type { RequestHandler } from '../../../../src/serving/http/server.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import { scratchFolder } from '../../kube/informer/scripted-server.ts'
import { type RawAnswer, answersIn, served } from '../listening-server.ts'
import { CONTEXT, attributesOf, extraOf, specOf } from './review-builder.ts'

/** The token in the file, unless a test says another. */
export const TOKEN = 'a-webhook-token-that-only-api-servers-have'

/** A review of an unrestricted token's request. */
export const REVIEW = {
  apiVersion: 'authorization.k8s.io/v1',
  kind: 'SubjectAccessReview',
  metadata: {},
  spec: specOf(extraOf(null), attributesOf('get pods x')),
  status: { allowed: false },
}

/** The bearer of a token as headers. */
export const bearer = (token: string): readonly string[] => [`Authorization: Bearer ${token}`]

/** A request to the webhook; what is absent is as an API server sends it. */
export interface Ask {
  readonly method?: string
  readonly target?: string
  readonly headers?: readonly string[]
  readonly body?: string | Buffer | object
}

/** Contents of the files; null = the flag is not given, undefined = there is no file. */
export interface CallerContents {
  readonly token?: string | null | undefined
  readonly authority?: string | null | undefined
}

/** Pause between two reads of the files. */
const LOOK_EVERY_MS = 2000

/** The webhook, listening until the test is finished. `contents` is what its files have at the start. */
export async function listeningWebhook(
  contents: CallerContents = { token: TOKEN, authority: null },
  context: Partial<WebhookContext> = {},
) {
  const folder = await scratchFolder()
  const [tokenFile, authorityFile] = [join(folder, 'token'), join(folder, 'ca.crt')]
  /** Replaces a file; undefined removes it. */
  const put = (path: string, text: string | undefined): void => {
    if (text === undefined) return rmSync(path, { force: true })
    writeFileSync(`${path}.new`, text)
    renameSync(`${path}.new`, path)
  }
  const files: Parameters<typeof followCallerFiles>[0]['files'] = {
    tokenFile: contents.token === null ? null : tokenFile,
    clientAuthorityFile: contents.authority === null ? null : authorityFile,
  }
  put(tokenFile, contents.token ?? undefined)
  put(authorityFile, contents.authority ?? undefined)

  const clock = manualClock(Date.now())
  const { log, lines } = memoryLog()
  const abort = new AbortController()
  onTestFinished(() => abort.abort())
  const outcomes: (typeof WEBHOOK_OUTCOMES)[number][] = []
  let respond: RequestHandler = () => Promise.reject(new Error('the webhook has not started'))
  const asksForCertificates = files.clientAuthorityFile !== null
  const { server, connect } = await served((http) => respond(http), {}, { asksForCertificates })
  const token = followCallerFiles({ files, clock, log, signal: abort.signal, trust: server.trust })
  respond = createWebhook({
    isCaller: token && webhookCallerCheck(token, clock),
    context: () => ({ ...CONTEXT, ...context }),
    answered: (outcome) => outcomes.push(outcome),
    clock,
  })

  /** Asks on an open connection. */
  const askOn = async (socket: TLSSocket, ask: Ask = {}): Promise<RawAnswer> => {
    const { method = 'POST', target = WEBHOOK_PATH, headers = bearer(TOKEN), body = REVIEW } = ask
    const bytes =
      typeof body === 'string' || Buffer.isBuffer(body) ? Buffer.from(body) : JSON.stringify(body)
    const length = `Content-Length: ${Buffer.byteLength(bytes)}`
    socket.write(
      `${[`${method} ${target} HTTP/1.1`, 'Host: h', ...headers, length].join('\r\n')}\r\n\r\n`,
    )
    socket.write(bytes)
    let received = ''
    while (answersIn(received).length === 0) received += String((await once(socket, 'data'))[0])
    const [answer] = answersIn(received)
    if (!answer) throw new Error('no answer')
    return answer
  }
  return {
    stop: () => abort.abort(),
    clock,
    lines,
    outcomes,
    connect,
    askOn,
    ask: async (ask: Ask = {}, options: ConnectionOptions = {}) =>
      askOn(await connect(options), ask),
    /** Replaces the file of the token, and waits until it was read. */
    putToken: async (text: string | undefined) => {
      put(tokenFile, text)
      await clock.advance(LOOK_EVERY_MS)
    },
    putAuthority: async (text: string | undefined) => {
      put(authorityFile, text)
      await clock.advance(LOOK_EVERY_MS)
    },
    /** The sentences of the log. */
    logged: () => lines.map(({ sentence }) => sentence),
  }
}
