/** A failure as the API describes it, or one of the way to it. */
export interface Problem {
  readonly title: string
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly impact?: string | undefined
  readonly hint?: string | undefined
  readonly requestId?: string | undefined
  readonly violations?: readonly { readonly path: string; readonly message: string }[] | undefined
  readonly [member: string]: unknown
}

/** Thrown by the client. */
export class ProblemError extends Error {
  readonly problem: Problem

  constructor(problem: Problem) {
    super(problem.detail)
    this.name = 'ProblemError'
    this.problem = problem
  }
}

/** The code of a request that got no answer. */
export const unreachableCode = 'CONSOLE_UNREACHABLE'

/** Converts anything that was thrown to a problem. */
export function problemOf(thrown: unknown): Problem {
  if (thrown instanceof ProblemError) return thrown.problem
  return {
    title: 'The console failed',
    status: 0,
    code: 'CONSOLE_FAILED',
    detail: thrown instanceof Error ? thrown.message : String(thrown),
    hint: 'Reload the page. If it happens again, report it with this text.',
  }
}

/** Describes a request that got no answer. @param isChange - whether it may have had an effect */
export function unreachable(isChange: boolean): Problem {
  return {
    title: 'The server does not answer',
    status: 0,
    code: unreachableCode,
    detail: 'The server could not be reached.',
    impact: isChange ? 'The change may have happened: read the state before you repeat it.' : undefined,
    hint: 'Check the network and whether the process runs.',
  }
}

/** Reads the problem of an answer; one that a proxy wrote has no members of ours. */
export function readProblem(status: number, statusText: string, body: string): Problem {
  const given = parsed(body)
  const text = (name: string): string | undefined => {
    const value = given[name]
    return typeof value === 'string' ? value : undefined
  }
  return {
    ...given,
    title: text('title') ?? (statusText === '' ? 'The request failed' : statusText),
    status,
    code: text('code') ?? `HTTP_${status}`,
    detail: text('detail') ?? `The server answered ${status}${statusText === '' ? '' : ` ${statusText}`}.`,
    impact: text('impact'),
    hint: text('hint') ?? (status === 401 ? 'Log in again, then reload this page.' : undefined),
    requestId: text('requestId'),
  }
}

function parsed(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
  } catch {
    return {}
  }
}

/** Returns a problem as text, for a ticket. */
export function problemText({ title, status, code, detail, impact, hint, requestId, violations }: Problem): string {
  return [
    `${title} (${status === 0 ? 'no answer' : status}, ${code})`,
    detail,
    ...(impact === undefined ? [] : [impact]),
    ...(hint === undefined ? [] : [hint]),
    ...(violations ?? []).map(({ path, message }) => `${path} ${message}`),
    ...(requestId === undefined ? [] : [`request ${requestId}`]),
  ].join('\n')
}
