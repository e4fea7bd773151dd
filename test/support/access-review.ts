// Who may what, as the API server decides: of rights that were just granted it learns by a watch, a moment after
// they are stored.
import { eventually } from './eventually.ts'
import type { Raw } from './raw-client.ts'

/** A user, as the API server knows it. */
export interface Person {
  readonly user: string
  /** None when absent. */
  readonly groups?: readonly string[]
}

/** What a user is to do with an object or a kind. */
export interface Wish {
  readonly verb: string
  readonly resource: string
  readonly name?: string
  readonly namespace?: string
  readonly group?: string
}

const SOON = { withinMs: 20_000 }

/** Whether the API server lets a user do that. */
export async function may(raw: Raw, who: Person, wish: Wish): Promise<boolean> {
  const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
  const review = { spec: { ...who, resourceAttributes: wish } }
  const { code, body } = await raw<{ readonly status: { readonly allowed: boolean } }>(
    'POST',
    path,
    review,
  )
  if (code !== 201) throw new Error(`the review was answered ${code}`)
  return body.status.allowed
}

/** Waits until the API server lets a user do that. */
export const untilMay = (raw: Raw, who: Person, wish: Wish): Promise<true> =>
  eventually(
    `${who.user} may ${wish.verb} ${wish.resource}`,
    async () => (await may(raw, who, wish)) || undefined,
    SOON,
  )
