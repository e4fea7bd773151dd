import { BOUNDS, RESULT_TOO_LARGE } from './protocol.ts'

/**
 * Code that runs before each expression, in the realm that the expression can change: it keeps what is used of that realm
 * later. `read` gives the variables of the expression; the prototypes tell plain objects and promises from others.
 */
export const READER = `'use strict';
(() => {
  const { parse, stringify } = JSON;
  const ErrorConstructor = Error;
  Math.random = () => { throw new ErrorConstructor('Math.random is not available, results must not change by themselves'); };
  const read = (value, context, path) => {
    const given = parse(context);
    given.path = path;
    return [parse(value), true, given];
  };
  return { __proto__: null, read, stringify, object: Object.prototype, promise: Promise.prototype };
})()
`

/**
 * Code that runs after an expression whose result is an object, or that failed, in a realm of its own, which no expression
 * can change. `write` gives the result as JSON (contract 19.3), `describe` JSON of what failed: a clause without values of
 * the expression, and the message of its error.
 */
export const WRITER = `'use strict';
(() => {
  const { stringify } = JSON;
  const { isArray } = Array;
  const { isFinite } = Number;
  const { apply, ownKeys, getPrototypeOf, getOwnPropertyDescriptor } = Reflect;
  const { setPrototypeOf } = Object;
  const { join } = Array.prototype;
  const ErrorConstructor = Error;
  const StringConstructor = String;
  const { slice } = StringConstructor.prototype;
  const NotJson = class extends ErrorConstructor {};
  const longest = ${BOUNDS.resultLength};
  const deepest = ${BOUNDS.resultLevels};

  const write = (result, objectPrototype, promisePrototype) => {
    let length = 0;
    let count = 0;
    let depth = 0;
    // Their prototype may have got setters.
    const parts = setPrototypeOf([], null);
    const open = setPrototypeOf([], null);
    const add = (part) => {
      length += part.length;
      parts[count++] = part;
      if (length > longest) throw new NotJson('${RESULT_TOO_LARGE}');
    };
    const put = (value) => {
      switch (typeof value) {
        case 'string':
        case 'boolean':
          return add(stringify(value));
        case 'number':
          if (!isFinite(value)) throw new NotJson('the result holds ' + value + ', which is not a JSON value');
          return add(stringify(value));
        case 'undefined':
          throw new NotJson('the result holds undefined in a list');
        case 'object':
          return value === null ? add('null') : putObject(value);
        default:
          throw new NotJson('the result holds a ' + typeof value + ', which is not a JSON value');
      }
    };
    const putObject = (value) => {
      if (depth >= deepest) throw new NotJson('the result has more than ' + deepest + ' levels');
      for (let at = 0; at < depth; at += 1)
        if (open[at] === value) throw new NotJson('the result holds itself');
      open[depth] = value;
      depth += 1;
      const prototype = getPrototypeOf(value);
      if (isArray(value)) {
        add('[');
        const { length } = value;
        for (let at = 0; at < length; at += 1) {
          if (at > 0) add(',');
          put(value[at]);
        }
        add(']');
      } else {
        if (prototype !== objectPrototype && prototype !== null) {
          const name = prototype === promisePrototype ? 'a promise' : 'an object with a class';
          throw new NotJson('the result holds ' + name + ', which is not a JSON value');
        }
        add('{');
        const names = ownKeys(value);
        const count = names.length;
        let isFirst = true;
        for (let at = 0; at < count; at += 1) {
          const name = names[at];
          if (typeof name !== 'string') throw new NotJson('the result holds a symbol, which is not a JSON value');
          const { enumerable } = getOwnPropertyDescriptor(value, name) ?? { enumerable: false };
          const inner = enumerable ? value[name] : undefined;
          if (inner === undefined) continue;
          if (!isFirst) add(',');
          isFirst = false;
          add(stringify(name));
          add(':');
          put(inner);
        }
        add('}');
      }
      depth -= 1;
      open[depth] = undefined;
    };
    put(result);
    return apply(join, parts, ['']);
  };

  const names = ['Error', 'EvalError', 'InternalError', 'RangeError', 'ReferenceError', 'SyntaxError', 'TypeError', 'URIError'];
  const describe = (error) => {
    let because = 'it failed';
    let detail = '';
    try {
      if (error instanceof NotJson) because = StringConstructor(error.message);
      else if (typeof error === 'object' && error !== null) {
        const name = StringConstructor(error.name);
        because = 'it threw an error';
        for (let at = 0; at < 8; at += 1) if (names[at] === name) because = name;
        detail = cut(StringConstructor(error.message));
      } else {
        because = 'it threw a value';
        detail = cut(StringConstructor(error));
      }
    } catch {}
    return '[' + stringify(because) + ',' + stringify(detail) + ']';
  };
  const cut = (text) => apply(slice, text, [0, 200]);

  return { __proto__: null, write, describe };
})()
`
