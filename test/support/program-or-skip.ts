// Tests that need a program which not every machine can build.
import { beforeAll, beforeEach } from 'vitest'
import { type Ensure, foundBy } from '../../tools/control-plane/found.ts'

/**
 * The path of the program, for all tests of a file; empty = there is none, and they are skipped with the ways out.
 *
 * @throws Error where CI is set and there is none
 */
export async function programOrSkip(ensure: Ensure): Promise<string> {
  const found = await foundBy(ensure, console.log)
  if (found.path !== null) return found.path
  beforeEach(({ skip }) => skip(found.reason))
  return ''
}

/**
 * Prepares the tests of a file that need programs, as `beforeAll` does; nothing is prepared where one is missing, as the tests
 * are skipped.
 *
 * @param programs as programOrSkip found them
 */
export function prepareWith(
  programs: readonly string[],
  act: () => unknown,
  timeoutMs?: number,
): void {
  if (!programs.includes('')) beforeAll(async () => void (await act()), timeoutMs)
}
