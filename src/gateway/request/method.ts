/**
 * The methods that are passed on. The API server answers none but these: OPTIONS has the empty verb there,
 * which no rule can grant, TRACE and CONNECT have none, and a method of lower-case letters is another one.
 */
export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** One of METHODS. */
export type Method = (typeof METHODS)[number]

/** Whether it is one of METHODS. */
export const isMethod = (method: string): method is Method =>
  (METHODS as readonly string[]).includes(method)
