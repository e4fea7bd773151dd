// An HTTPS server in the place of the gateway, and the command that asks it.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventListOf } from '../../../../src/domain/audit/event-list.ts'
import { numberedEvent } from '../../../support/audit-event-builder.ts'
import { runHere } from '../../../support/command-line.ts'
import type { RunResult } from '../../../support/command-process.ts'
import { recordAnswered } from '../../../support/recording-server.ts'

/** The access key in the kubeconfig. */
export const KEY = `pak_${'a1B2c3'.repeat(8)}`

/** A request as the gateway sees it. */
interface Asked {
  readonly path: string
  readonly parameters: Readonly<Record<string, string>>
}

/** Answers a request. */
export type Answer = (asked: Asked, response: ServerResponse, request: IncomingMessage) => void

/** Runs the command against a gateway of this answer; `asked` has the requests in their order. */
export async function ask(
  answer: Answer,
  args: readonly string[],
  run: (args: readonly string[]) => Promise<RunResult> = runHere,
): Promise<RunResult & { readonly asked: readonly Asked[] }> {
  const asked: Asked[] = []
  await using server = await recordAnswered((request, response) => {
    const url = new URL(request.url ?? '', 'https://gateway')
    const one = { path: url.pathname, parameters: Object.fromEntries(url.searchParams) }
    asked.push(one)
    answer(one, response, request)
  })
  const folder = mkdtempSync(join(tmpdir(), 'audit-gateway-'))
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigOf(`${server.url}/kubernetes/management`, server.caPem))
  const result = await run(['audit', '--kubeconfig', kubeconfig, ...args])
  rmSync(folder, { recursive: true })
  return { ...result, asked }
}

/** A kubeconfig with that server. */
export const kubeconfigOf = (server: string, caPem: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'c',
        cluster: { server, 'certificate-authority-data': Buffer.from(caPem).toString('base64') },
      },
    ],
    users: [{ name: 'u', user: { token: KEY } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  })

/** Answers with the events of these numbers. */
export const page = (
  response: ServerResponse,
  numbers: readonly number[],
  token: string | null,
): void => {
  response.setHeader('content-type', 'application/json')
  response.end(
    eventListOf(
      numbers.map((number) => JSON.stringify(numberedEvent(number))),
      token,
    ),
  )
}
