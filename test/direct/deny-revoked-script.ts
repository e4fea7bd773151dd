// deny-revoked.sh as a process, and what it has written.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

/** What tests look at in an authentication file. */
export interface Authentication {
  readonly jwt: readonly [
    {
      readonly issuer: { readonly url: string; readonly audiences: string[] }
      readonly userValidationRules: readonly { message: string; expression: string }[]
    },
  ]
}

/** How a run ended, and what it printed. */
export interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs the script with nothing of the test's environment but PATH, and what is added. */
export function runScript(args: readonly string[], added: NodeJS.ProcessEnv = {}): Promise<Ran> {
  const { PATH } = process.env
  const env = { PATH, ...added }
  return new Promise((resolve) => {
    const child = execFile('sh', [DENY_REVOKED, ...args], { env }, (_, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    )
  })
}

/** The rules that the script has written into that file. */
export function denyRules(path: string): Authentication['jwt'][0]['userValidationRules'] {
  const { jwt } = parse(readFileSync(path, 'utf8')) as Authentication
  return jwt[0].userValidationRules.filter(({ message }) => message === 'the token is revoked')
}

/** The uids in these rules, as they stand there. */
export function deniedIn(path: string): readonly string[] {
  return denyRules(path).flatMap(({ expression }) =>
    [...expression.matchAll(/^'JTI=(.*)', \/\/ until/gm)].map(([, uid]) => uid ?? ''),
  )
}

const FOLDER = join(import.meta.dirname, '../../config/direct-endpoint')

/** The script that denies revoked tokens. */
export const DENY_REVOKED = join(FOLDER, 'deny-revoked.sh')

/** A shipped authentication file, as it is. */
export function shipped(name: 'authentication' | 'authentication-with-webhook'): string {
  return readFileSync(join(FOLDER, `${name}.yaml`), 'utf8')
}
