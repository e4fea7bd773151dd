// Tests that need a program which not every machine can build.
import { beforeEach } from 'vitest'
import { type Ensure, foundBy } from '../../tools/helm/found.ts'

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
