// All refusals of self-service. docs/gateway.md and docs/troubleshooting.md have their tables from here: neighbours with
// the same `because` are one row there.
import { refusalCatalogue } from '../../serving/http/answer.ts'

const SOON = { 'retry-after': '1' }

const STRICT_BODY =
  'it is read strictly: two readers could read it differently. YAML is read as the API server reads it (`017` is 15, `yes` is true); tags, aliases, `<<`, and names such as `y` or `1` without quotes are refused, with line, column and the rule. JSON is always accepted'
const QUOTA = 'the limit is reached: see [below](#limits)'
const LONGEST_BODY = 'see [below](#limits)'
const LARGEST_OBJECT = "the caller's own key or token is too large: see [below](#limits)"
const BUFFERED = 'see [below](#limits); for a watch it is the last event'
const JSON_PATCH = 'a JSON patch may have `add`, `remove`, `replace` and `test`'

/** The catalogue, in the order of the documentation. */
export const SELF_SERVICE_ERRORS = refusalCatalogue({
  bodyNotUtf8: { reason: 'BadRequest', message: 'the body must be UTF-8', because: STRICT_BODY },
  bodyNotJson: {
    reason: 'BadRequest',
    message: 'the body must be valid JSON',
    because: STRICT_BODY,
  },
  bodyNotObject: {
    reason: 'BadRequest',
    message: 'the body must be an object',
    because: STRICT_BODY,
  },
  bodyAmbiguous: {
    reason: 'BadRequest',
    message: 'the body is rejected: <fault>',
    because: STRICT_BODY,
  },
  bodyNotYaml: {
    reason: 'BadRequest',
    message:
      'the body is <fault>. YAML is read as the API server reads it, or not at all: send JSON',
    because: STRICT_BODY,
  },
  patchNotList: {
    reason: 'BadRequest',
    message: 'a JSON patch must be a list of operations',
    because: STRICT_BODY,
  },
  includeObject: {
    reason: 'BadRequest',
    message: 'includeObject must be None, Metadata or Object',
    because: 'the parameter for tables',
  },
  fieldRefused: {
    reason: 'Forbidden',
    message: '<field>: <because>',
    because: 'self-service does not write this: see [Your own keys](#your-own-keys)',
  },
  tooManyKeys: {
    reason: 'Forbidden',
    message:
      'this user has <count> access keys that have not ended, and the limit is <limit> (--max-keys-per-user): delete some first',
    because: QUOTA,
  },
  tooManyTokens: {
    reason: 'Forbidden',
    message:
      'this user, team or subject has <count> tokens that have not ended, including deleted ones, and the limit is <limit> (--max-tokens-per-user): let some end first',
    because: QUOTA,
  },
  configsReadOnly: {
    reason: 'Forbidden',
    message: 'Configs are read only here: disableConfigEndpoint is true in the settings in force',
    because: '',
  },
  tokenRefused: {
    reason: 'Forbidden',
    message: 'no token is issued: <because>',
    because: 'and none will be: the message says why. The gateway has deleted the object',
  },
  resourceNotFound: {
    reason: 'NotFound',
    message: 'the server could not find the requested resource',
    because: 'self-service has no such path or verb; the API server says the same',
  },
  objectNotFound: {
    reason: 'NotFound',
    message: '<resource> <name> not found',
    because:
      "there is none, or it is another user's and RBAC grants nothing on it: see [Your own keys](#your-own-keys)",
  },
  notAcceptable: {
    reason: 'NotAcceptable',
    message:
      'accept application/json, or application/yaml where nothing is watched, as objects, Table or PartialObjectMetadata',
    because: 'the client accepts only other forms, such as protobuf',
  },
  objectExists: {
    reason: 'AlreadyExists',
    message: '<resource> <name> already exists',
    because: 'a create, or an apply, of a name that is taken',
  },
  objectChanged: {
    reason: 'Conflict',
    message:
      'the object is not the one with this uid and resourceVersion: apply your changes to the latest version',
    because: 'it has changed meanwhile: read it again',
  },
  listHasNoPages: {
    reason: 'Expired',
    message: 'a filtered list has no pages: list again without the parameter continue',
    because: 'parameter `continue` to a [filtered list](#what-passes)',
  },
  bodyTooLong: {
    reason: 'RequestEntityTooLarge',
    message: 'the body must have at most <limit> bytes',
    because: LONGEST_BODY,
  },
  yamlTooLong: {
    reason: 'RequestEntityTooLarge',
    message: 'YAML must have at most <limit> bytes here: send it as JSON',
    because: LONGEST_BODY,
  },
  ownBodyTooLarge: {
    reason: 'RequestEntityTooLarge',
    message: 'the body has <bytes> bytes: to write your own keys and tokens it may have <limit>',
    because: LARGEST_OBJECT,
  },
  ownObjectTooLarge: {
    reason: 'RequestEntityTooLarge',
    message:
      'the object would have <bytes> bytes: your own keys and tokens may have <limit> each, with all that the API server adds',
    because: LARGEST_OBJECT,
  },
  bodyType: {
    reason: 'UnsupportedMediaType',
    message: 'the body must be application/json or application/yaml',
    because: '',
  },
  bodyEncoding: {
    reason: 'UnsupportedMediaType',
    message: 'the body must come without a content-encoding',
    because: '',
  },
  patchType: {
    reason: 'UnsupportedMediaType',
    message: 'the patch must be one of <types>',
    because: 'a strategic merge patch, which custom resources do not have',
  },
  metadataNotObject: {
    reason: 'Invalid',
    message: 'metadata must be an object',
    because: '',
  },
  tooManyOperations: {
    reason: 'Invalid',
    message: 'a JSON patch has at most <limit> operations here',
    because: JSON_PATCH,
  },
  tooManyTests: {
    reason: 'Invalid',
    message: 'a JSON patch has at most <limit> tests here',
    because: JSON_PATCH,
  },
  operationUnknown: {
    reason: 'Invalid',
    message: 'operation <operation> is not supported here, only <operations>',
    because: JSON_PATCH,
  },
  pathMissing: {
    reason: 'Invalid',
    message: 'each operation needs a path, empty or of parts that begin with /',
    because: JSON_PATCH,
  },
  pathTooLong: {
    reason: 'Invalid',
    message: 'a path has at most <parts> parts and <characters> characters here',
    because: JSON_PATCH,
  },
  testRefused: {
    reason: 'Invalid',
    message: 'a test of <path> is refused: <because>',
    because:
      'after the earlier operations of the patch, the path leads to a hidden value, and a `test` would confirm a guess; or the path names a list entry other than by 0, 1 and so on',
  },
  operationRefused: {
    reason: 'Invalid',
    message: 'operation <operation> of <path>: <because>',
    because:
      'after the earlier operations of the patch, the path does not exist; or the value is REDACTED, but there is no hidden value that it could stand for: send the value itself',
  },
  bufferOfCallerFull: {
    reason: 'TooManyRequests',
    message:
      'too many unread bytes of answers and events about objects of management.platform.sh for this user, team or subject (limit <limit> bytes); read them, then try again in 1 s',
    headers: SOON,
    because: BUFFERED,
  },
  bufferFull: {
    reason: 'TooManyRequests',
    message:
      'too many unread bytes of answers and events about objects of management.platform.sh for all callers together at this gateway (limit <limit> bytes); try again in 1 s',
    headers: SOON,
    because: BUFFERED,
  },
  tokensNotListed: {
    reason: 'ServiceUnavailable',
    message: 'this gateway has not listed the tokens yet, try again',
    headers: SOON,
    because: 'the gateway has just started: it counts tokens before it creates one',
    remedy:
      'nothing, if it has just started. Otherwise log line `watch failed, trying again` says why it cannot list them',
  },
  tokenNotIssued: {
    reason: 'Timeout',
    message: 'no token was issued within <seconds> s: <because>',
    because:
      'the message has what the operator waits for, or that it has not reported yet. The gateway has deleted the object',
    remedy:
      'the message says what the token waited for. If it says nothing, check that a manager leads',
  },
})
