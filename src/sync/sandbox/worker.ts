// A worker thread that evaluates expressions in QuickJS: a fresh runtime for each, without clock, randomness,
// network and files. It may be killed at any moment.
import { parentPort } from 'node:worker_threads'
import variant from '@jitl/quickjs-wasmfile-release-sync'
import {
  newQuickJSWASMModuleFromVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSRuntime,
  type QuickJSSyncVariant,
  type QuickJSWASMModule,
} from 'quickjs-emscripten-core'
import { type HostPlace, hostDns } from '../objects/host-name.ts'
import { READER, WRITER } from './harness.ts'
import {
  BOUNDS,
  type EvaluationRequest,
  type EvaluationResult,
  failed,
  OVERRUN,
  TOO_LARGE,
  type WorkerMessage,
  type WorkerRequest,
} from './protocol.ts'

/** The engine asks this realm for time and time zone: it always gets the beginning of 1970, in UTC. */
function freezeClock(): void {
  Date.now = () => 0
  const prototype: object = Date.prototype
  Reflect.set(prototype, 'getTimezoneOffset', () => 0)
  for (const field of ['FullYear', 'Month', 'Date', 'Day', 'Hours', 'Minutes', 'Seconds'])
    Reflect.set(prototype, `get${field}`, Reflect.get(prototype, `getUTC${field}`))
}

function evaluate(
  engine: QuickJSWASMModule,
  { request, interruptMs }: WorkerRequest,
): WorkerMessage {
  const endMs = performance.now() + interruptMs
  let isLate = false
  const runtime = engine.newRuntime({
    memoryLimitBytes: BOUNDS.memoryBytes,
    maxStackSizeBytes: BOUNDS.stackBytes,
  })
  try {
    runtime.setInterruptHandler(() => (isLate ||= performance.now() >= endMs))
    const result = evaluateIn(runtime, request, () => isLate)
    runtime.dispose()
    return { kind: 'answer', result: isLate ? OVERRUN : result, isBroken: false }
  } catch {
    // An engine without memory may not even tell: it is not used again.
    return { kind: 'answer', result: isLate ? OVERRUN : TOO_LARGE, isBroken: true }
  }
}

/** @param isLate whether the engine stops everything by now */
function evaluateIn(
  runtime: QuickJSRuntime,
  request: EvaluationRequest,
  isLate: () => boolean,
): EvaluationResult {
  const context = runtime.newContext()
  const handles: QuickJSHandle[] = []
  const kept = (handle: QuickJSHandle): QuickJSHandle => {
    handles.push(handle)
    return handle
  }
  try {
    const reader = kept(valueOf(context.evalCode(READER, 'reader.js')))
    const [read, stringify, object, promise] = ['read', 'stringify', 'object', 'promise'].map(
      (name) => kept(context.getProp(reader, name)),
    ) as [QuickJSHandle, QuickJSHandle, QuickJSHandle, QuickJSHandle]
    for (const [name, call] of Object.entries(functionsFor(request.place))) {
      const handle = context.newFunction(name, (argument) => {
        if (context.typeof(argument) !== 'string') throw new TypeError(`${name} takes a string`)
        return context.newString(call(context.getString(argument)))
      })
      context.setProp(context.global, name, handle)
      handle.dispose()
    }
    const code = `((value, valueExists, context) => (\n${request.source}\n))`
    const made = context.evalCode(code, 'expression.js', { strict: true })
    if (made.error) return failure(runtime, made.error, isLate)
    kept(made.value)
    const texts = [request.value, request.context, request.path].map((text) =>
      kept(context.newString(text)),
    )
    const inputs = kept(valueOf(context.callFunction(read, context.undefined, ...texts)))
    const variables = [0, 1, 2].map((at) => kept(context.getProp(inputs, at)))
    const called = context.callFunction(made.value, context.undefined, ...variables)
    if (called.error) return failure(runtime, called.error, isLate)
    const result = kept(called.value)
    if (isNothing(context, result)) return { kind: 'remove' }
    return (
      plainResult(context, result, stringify) ?? writtenResult(runtime, [result, object, promise])
    )
  } finally {
    for (const handle of handles) handle.dispose()
    context.dispose()
  }
}

const isNothing = (context: QuickJSContext, result: QuickJSHandle): boolean =>
  context.typeof(result) === 'undefined' || context.eq(result, context.null)

/** A result that is not an object, so that no code of the expression can change it; null = an object, or not a JSON value. */
function plainResult(
  context: QuickJSContext,
  result: QuickJSHandle,
  stringify: QuickJSHandle,
): EvaluationResult | null {
  const type = context.typeof(result)
  if (!['string', 'number', 'boolean'].includes(type)) return null
  if (type === 'number' && !Number.isFinite(context.getNumber(result))) return null
  const json = stringOf(
    context,
    valueOf(context.callFunction(stringify, context.undefined, result)),
  )
  return json.length <= BOUNDS.resultLength ? { kind: 'value', json } : null
}

/** The result as JSON. @param args the result, and the prototypes of objects and promises in its realm */
const writtenResult = (runtime: QuickJSRuntime, args: readonly QuickJSHandle[]): EvaluationResult =>
  inWriter(runtime, (writer) => {
    const { context, write } = writer
    const written = context.callFunction(write, context.undefined, ...args)
    if (written.error) return describedFailure(writer, written.error)
    return { kind: 'value', json: stringOf(context, written.value) }
  })

/** The realm of WRITER, with its functions. */
interface WriterRealm {
  readonly context: QuickJSContext
  readonly write: QuickJSHandle
  readonly describe: QuickJSHandle
}

/** @throws Error where the engine has no memory left for it */
function inWriter<T>(runtime: QuickJSRuntime, act: (writer: WriterRealm) => T): T {
  const context = runtime.newContext()
  const handles: QuickJSHandle[] = []
  try {
    const writer = valueOf(context.evalCode(WRITER, 'writer.js'))
    handles.push(writer)
    const [write, describe] = ['write', 'describe'].map((name) =>
      context.getProp(writer, name),
    ) as [QuickJSHandle, QuickJSHandle]
    handles.push(write, describe)
    return act({ context, write, describe })
  } finally {
    for (const handle of handles) handle.dispose()
    context.dispose()
  }
}

function stringOf(context: QuickJSContext, handle: QuickJSHandle): string {
  const text = context.getString(handle)
  handle.dispose()
  return text
}

type CallResult = ReturnType<QuickJSContext['callFunction']>

/** The value of code of the harness. @throws Error where the engine has no memory left for it */
function valueOf(result: CallResult): QuickJSHandle {
  if (!result.error) return result.value
  result.error.dispose()
  throw new Error('the engine has no memory left')
}

/** The failure of an expression. One that was stopped has no error to describe, which would be stopped too. */
function failure(
  runtime: QuickJSRuntime,
  error: QuickJSHandle,
  isLate: () => boolean,
): EvaluationResult {
  if (!isLate()) return inWriter(runtime, (writer) => describedFailure(writer, error))
  error.dispose()
  return OVERRUN
}

/** The error as a sentence, made inside of the sandbox: its text may come from a getter. */
function describedFailure(
  { context, describe }: WriterRealm,
  error: QuickJSHandle,
): EvaluationResult {
  const described = context.callFunction(describe, context.undefined, error)
  error.dispose()
  if (described.error) {
    described.error.dispose()
    return failed('it failed')
  }
  const [because, detail] = JSON.parse(stringOf(context, described.value)) as [string, string]
  const isMemory = because === 'InternalError' && detail === 'out of memory'
  return isMemory ? TOO_LARGE : { ...failed(because), detail }
}

/** The functions that expressions may call; each takes one string. */
const functionsFor = (
  place: HostPlace,
): Readonly<Record<string, (argument: string) => string>> => ({
  atob: (data) => {
    const isBase64 = /^[A-Za-z0-9+/]*={0,2}$/.test(data) && data.length % 4 === 0
    if (!isBase64) throw new TypeError('atob takes base64')
    try {
      return UTF8.decode(Buffer.from(data, 'base64'))
    } catch {
      throw new TypeError('atob: the data is not UTF-8 text')
    }
  },
  btoa: (text) => Buffer.from(text).toString('base64'),
  virtualToHostDNS: (dns) => hostDns(dns, place),
})

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

if (!parentPort) throw new Error('worker.ts runs in a worker thread')
const port = parentPort
const send = (message: WorkerMessage): void => port.postMessage(message)
freezeClock()
const engine = await newQuickJSWASMModuleFromVariant(
  // Its types are written for CommonJS.
  variant as unknown as QuickJSSyncVariant,
)
port.on('message', (asked: WorkerRequest) => send(evaluate(engine, asked)))
// The first evaluation compiles the engine, which takes a part of its time.
const place = { virtualCluster: '', hostNamespace: '', namespaces: null }
const request = { source: 'value', value: '1', context: '{}', path: '', place, object: '' }
evaluate(engine, { request, interruptMs: BOUNDS.interruptMs })
send({ kind: 'ready' })
