// The program as the image has it: JavaScript in few files, with its flags and variables. A checkout runs TypeScript, whose
// compiler takes memory and time at each start that no installation pays.
import { join } from 'node:path'
import { useBundledProgram } from '../tools/bundle/bundle.ts'
import { IMAGE_VARIABLES } from '../tools/node-flags.ts'

/** Makes it in .bench. All processes of the program that start from now on run it. */
export async function useShippedProgram(): Promise<void> {
  await useBundledProgram(join(import.meta.dirname, '../.bench/program'))
  Object.assign(process.env, IMAGE_VARIABLES)
}
