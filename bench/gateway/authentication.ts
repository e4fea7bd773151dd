// The CPU time of the authentication of a known key, without a server.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { NODE_FLAGS } from '../../tools/node-flags.ts'
import type { Figures } from '../measure/rounds.ts'

const KEYS = 100_000
/** Microseconds of an authentication, and of two SHA-256. */
type Round = readonly [number, number]

const LOOP = join(import.meta.dirname, 'authentication-loop.ts')

/**
 * @returns authenticationUs of each round: microseconds of CPU that one authentication takes among 100,000 keys;
 *   twoSha256Us: that two SHA-256 of a key take in the same process; and besideTwoSha256, the ratio of both
 */
export async function measureAuthentication(rounds: number): Promise<readonly Figures[]> {
  const args = [...NODE_FLAGS, LOOP, String(KEYS), String(rounds)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return (JSON.parse(stdout) as readonly Round[]).map(([authenticationUs, twoSha256Us]) => ({
    authenticationUs,
    twoSha256Us,
    besideTwoSha256: authenticationUs / twoSha256Us,
  }))
}
