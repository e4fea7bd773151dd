// All refusals of the authorization webhook. Its decisions on reviews do not count as refusals.
import { refusalCatalogue } from '../../serving/http/answer.ts'

const NO_REVIEW = 'the request is not a review of an API server'

/** The catalogue, in the order of the documentation. */
export const WEBHOOK_ERRORS = refusalCatalogue({
  webhookClosed: {
    reason: 'NotFound',
    message: 'there is nothing here',
    because: 'neither `--webhook-token-file` nor `--webhook-client-ca` is given',
  },
  webhookCaller: {
    reason: 'Unauthorized',
    message: 'Unauthorized',
    // A client that holds a connection would stay refused when the CA of its certificate comes later.
    headers: { 'www-authenticate': 'Bearer', connection: 'close' },
    because:
      'no token, a token that differs from the one in the file, or no certificate of the client CA',
    remedy:
      'compare the kubeconfig of the webhook with the two files; the log says which cannot be used',
  },
  webhookMethod: {
    reason: 'MethodNotAllowed',
    message: 'a review is sent by POST',
    headers: { allow: 'POST' },
    because: NO_REVIEW,
  },
  reviewTooLong: {
    reason: 'RequestEntityTooLarge',
    message: 'the review must have at most <limit> bytes',
    because: NO_REVIEW,
  },
  reviewMalformed: {
    reason: 'BadRequest',
    message: 'the body is not a review: <fault>',
    because: NO_REVIEW,
  },
  reviewFormer: {
    reason: 'BadRequest',
    message: 'reviews must be authorization.k8s.io/v1: set subjectAccessReviewVersion: v1',
    because: 'the API server sends reviews of v1beta1, as it does without that setting',
    remedy: 'set `subjectAccessReviewVersion: v1` in the authorization configuration',
  },
})
