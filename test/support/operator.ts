// The operator as a process of its own: `node src/main.ts manager`, with its own ServiceAccount.
import { type OwnProcess, type ProcessOptions, startCommand } from './started.ts'

/** An operator of the test's own. `await using` stops it where the block ends. */
export type OwnOperator = OwnProcess

/** The issuer of tokens of operators that are told one (contract 7.2). Nothing is served there. */
export const ISSUER = 'https://platform.example.com/oidc'

/**
 * Starts an operator and waits until it is ready. It ends with the test process, whatever ends that.
 *
 * @throws Error with the end of its output when it ends first or is not ready within 30 s
 */
export const startOperator = (options: ProcessOptions): Promise<OwnOperator> =>
  startCommand('manager', options)
