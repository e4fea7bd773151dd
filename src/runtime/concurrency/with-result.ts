/**
 * Goes on with a result that is mostly there at once. Where each step of a request awaited its result, the promises would take
 * longer than the steps.
 */
export const withResult = <Result, Next>(
  result: Result | Promise<Result>,
  act: (result: Result) => Next | Promise<Next>,
): Next | Promise<Next> => (result instanceof Promise ? result.then(act) : act(result))
