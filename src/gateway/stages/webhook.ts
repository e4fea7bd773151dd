// Leads reviews of API servers to the authorization webhook (contract 9.6). They come without a caller of the platform.
import type { Answer } from '../../serving/http/answer.ts'
import type { HttpRequest } from '../../serving/http/request.ts'
import type { Stage } from '../request-context.ts'
import { WEBHOOK_PATH } from '../webhook/handler.ts'

/** The dependencies of the stage. */
export interface WebhookRouteDeps {
  /** Answers requests at the path of the webhook, and checks who sends them. */
  readonly webhook: (http: HttpRequest) => Promise<Answer>
}

/** Answers requests at the path of the webhook. */
export const webhookRoute: Stage<WebhookRouteDeps> = (context, { webhook }) => {
  if (context.path !== WEBHOOK_PATH) return null
  context.target = 'Webhook'
  return webhook(context.http)
}
