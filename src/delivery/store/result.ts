// How a sync of a Secret ended.
import { hash } from 'node:crypto'
import { canonicalJson } from '../../domain/json/json.ts'
import type { StoreContent } from '../../domain/store/secret-content.ts'
import type { EntryMetadata } from '../../domain/store/store-answers.ts'
import { isConflict, isNotFound } from '../../kube/client/api-error.ts'
import type { InStep, SyncFault } from './deps.ts'

/** The Secret is not there any more, or asks for something else: the next round sees what. */
export const GONE = 'gone'
/** The Secret has changed meanwhile, and is read again. */
export const CHANGED = 'changed'

/** The end of a sync. */
export type SyncResult =
  | typeof GONE
  | typeof CHANGED
  | {
      readonly kind: 'inStep'
      readonly outcome: 'unchanged' | 'written'
      readonly inStep: InStep | null
    }
  | { readonly kind: 'outOfStep'; readonly fault: SyncFault }

/** Both are in step. @param state null = as it was known */
export const inStep = (outcome: 'unchanged' | 'written', state: InStep | null): SyncResult => ({
  kind: 'inStep',
  outcome,
  inStep: state,
})

/** They are not. */
export const outOfStep = (
  outcome: SyncFault['outcome'],
  reason: SyncFault['reason'],
  message: string,
): SyncResult => ({ kind: 'outOfStep', fault: { outcome, reason, message } })

/** A text that stands for the content. */
export const contentDigest = (content: StoreContent): string =>
  hash('sha256', canonicalJson(content))

/** Whether the current version is the one that was in step, and not another one of its number. */
export const isKnownVersion = (
  { currentVersion, createdTime }: EntryMetadata,
  { entryVersion, entryCreated }: InStep,
): boolean => currentVersion === entryVersion && createdTime === entryCreated

/** CHANGED for the error of a write that came too late. @throws every other error */
export function changedOr(error: unknown): typeof CHANGED {
  if (isConflict(error) || isNotFound(error)) return CHANGED
  throw error
}
