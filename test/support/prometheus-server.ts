// Runs a real Prometheus and promtool, see tools/prometheus.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { choosePort } from '../../tools/control-plane/ports.ts'
import type { Found, PrometheusPrograms } from '../../tools/prometheus/programs.ts'
import { tether } from '../../tools/tether.ts'
import { eventually } from './eventually.ts'

/** A target that Prometheus scrapes once a second. */
export interface Target {
  /** Such as `127.0.0.1:20123`. */
  readonly address: string
  /** As the target would have in a cluster, `job` among them. */
  readonly labels: Readonly<Record<string, string>>
}

/** A series as a query answers it. */
export interface Sample {
  readonly metric: Readonly<Record<string, string>>
  readonly value: number
}

/** A rule as Prometheus last evaluated it. */
export interface EvaluatedRule {
  readonly name: string
  readonly health: 'ok' | 'err' | 'unknown'
  readonly lastError?: string
  readonly state: 'inactive' | 'pending' | 'firing'
}

/** A running Prometheus. `await using` stops it. */
export interface Prometheus extends AsyncDisposable {
  /** Evaluates an expression now; a scalar is one sample. @throws Error with what Prometheus says */
  query(expression: string): Promise<readonly Sample[]>
  rules(): Promise<readonly EvaluatedRule[]>
}

/** The programs; skips the test, with the reason, where there are none. */
export const programsOrSkip = (found: Found, skip: (reason: string) => never): PrometheusPrograms =>
  found.programs ?? skip(found.reason)

const START_LIMIT_MS = 30_000

/**
 * Starts a Prometheus that scrapes these targets and evaluates this file of rules, both once a second. It ends
 * with the test process, whatever ends that.
 *
 * @throws Error with its log when it is not ready in time
 */
export async function startPrometheus(
  { prometheus }: PrometheusPrograms,
  targets: readonly Target[],
  rulesFile: string,
): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'prometheus-'))
  const port = await choosePort(join(folder, 'port'), console.log)
  const config = join(folder, 'prometheus.yml')
  const logFile = join(folder, 'log')
  writeFileSync(config, JSON.stringify(configOf(targets, rulesFile)))
  const args = [
    `--config.file=${config}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ]
  const log = openSync(logFile, 'a')
  const child = spawn(prometheus, args, { cwd: folder, stdio: ['ignore', log, log] })
  const exited = once(child, 'exit')
  tether(child)
  const url = `http://127.0.0.1:${port}`
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL')
    await exited
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await eventually('Prometheus is ready', () => isReady(url), { withinMs: START_LIMIT_MS })
  } catch (cause) {
    const why = readFileSync(logFile, 'utf8')
    await stop()
    throw new Error(`Prometheus is not ready; its log says:\n${why}`, { cause })
  }
  return {
    query: async (expression) => samplesOf(await ask(url, '/api/v1/query', { query: expression })),
    rules: async () => {
      const { groups } = await ask<{ groups: readonly Group[] }>(url, '/api/v1/rules', {})
      return groups.flatMap(({ rules }) => rules)
    },
    [Symbol.asyncDispose]: stop,
  }
}

interface Group {
  readonly rules: readonly EvaluatedRule[]
}

/** JSON is YAML too. */
const configOf = (targets: readonly Target[], rulesFile: string): object => ({
  global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
  rule_files: [rulesFile],
  // The label `job` of a target overrides this name: two clusters may have the same.
  scrape_configs: [
    {
      job_name: 'targets',
      static_configs: targets.map(({ address, labels }) => ({ targets: [address], labels })),
    },
  ],
})

async function isReady(url: string): Promise<true | undefined> {
  const { ok } = await fetch(`${url}/-/ready`)
  return ok || undefined
}

async function ask<Data>(
  url: string,
  path: string,
  query: Readonly<Record<string, string>>,
): Promise<Data> {
  const answer = await fetch(`${url}${path}?${new URLSearchParams(query).toString()}`)
  const body = (await answer.json()) as { status: string; data: Data; error?: string }
  if (body.status !== 'success') throw new Error(`${query['query'] ?? path}: ${body.error}`)
  return body.data
}

type Point = readonly [at: number, value: string]
type QueryResult =
  | { readonly resultType: 'scalar'; readonly result: Point }
  | {
      readonly resultType: 'vector'
      readonly result: readonly { metric: Sample['metric']; value: Point }[]
    }

const samplesOf = (data: QueryResult): readonly Sample[] =>
  data.resultType === 'scalar'
    ? [{ metric: {}, value: Number(data.result[1]) }]
    : data.result.map(({ metric, value: [, value] }) => ({ metric, value: Number(value) }))

/** How promtool ended and all that it printed. */
export interface Verdict {
  readonly code: number | null
  readonly printed: string
}

/** Runs promtool to its end. */
export function promtool(
  { promtool: program }: PrometheusPrograms,
  args: readonly string[],
  input = '',
): Promise<Verdict> {
  return new Promise((resolve) => {
    const child = execFile(program, [...args], (_, stdout, stderr) =>
      resolve({ code: child.exitCode, printed: stdout + stderr }),
    )
    child.stdin?.end(input)
  })
}
