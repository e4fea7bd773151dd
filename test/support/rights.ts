// Rights that were just granted: the API server learns of them by a watch, a moment after they are stored.
import { eventually } from './eventually.ts'
import type { Raw } from './raw.ts'

/** What somebody is to do with an object or a kind. */
export interface Wish {
  readonly verb: string
  readonly resource: string
  readonly namespace?: string
}

const SOON = { withinMs: 20_000 }

/** Waits until the API server lets the user do that. */
export const untilMay = (raw: Raw, user: string, wish: Wish): Promise<true> =>
  eventually(
    `${user} may ${wish.verb} ${wish.resource}`,
    async () => {
      const { body } = await raw<{ readonly status: { readonly allowed: boolean } }>(
        'POST',
        '/apis/authorization.k8s.io/v1/subjectaccessreviews',
        { spec: { user, resourceAttributes: wish } },
      )
      return body.status.allowed || undefined
    },
    SOON,
  )
