import { useRef, useState } from 'preact/hooks'
import { call, newIdempotencyKey } from '../api/client.ts'
import { type Problem, problemOf } from '../api/problem.ts'
import type { AnswerOf, RequestOf, RouteName } from '../api/request.ts'
import { noteAudit } from './session.ts'

/** A change that the user makes. */
export interface Command<R extends RouteName> {
  readonly isRunning: boolean
  readonly problem: Problem | undefined
  readonly answer: AnswerOf<R> | undefined
  /** Sends it. Resolves to undefined after a failure, which is in `problem`. */
  readonly run: (request: RequestOf<R>, reason?: string) => Promise<AnswerOf<R> | undefined>
  readonly reset: () => void
}

/**
 * Returns a change of a route. Without an answer the next try sends the same key, so that the change cannot happen twice; an
 * answer, also a refusal, ends the key.
 */
export function useCommand<R extends RouteName>(name: R): Command<R> {
  const [state, setState] = useState<Pick<Command<R>, 'isRunning' | 'problem' | 'answer'>>(idle)
  const key = useRef<{ readonly of: string; readonly key: string } | undefined>(undefined)
  const run = async (request: RequestOf<R>, reason?: string): Promise<AnswerOf<R> | undefined> => {
    const of = JSON.stringify([request, reason])
    if (key.current?.of !== of) key.current = { of, key: newIdempotencyKey() }
    setState({ isRunning: true, problem: undefined, answer: undefined })
    try {
      const answer = await call(name, request, { reason, idempotencyKey: key.current.key })
      key.current = undefined
      noteAudit(undefined)
      setState({ isRunning: false, problem: undefined, answer })
      return answer
    } catch (error) {
      const problem = problemOf(error)
      noteAudit(problem)
      if (problem.status !== 0) key.current = undefined
      setState({ isRunning: false, problem, answer: undefined })
      return undefined
    }
  }
  return { ...state, run, reset: () => setState(idle) }
}

const idle = { isRunning: false, problem: undefined, answer: undefined } as const
