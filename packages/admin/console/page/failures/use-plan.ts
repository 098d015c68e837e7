import { useEffect, useState } from 'preact/hooks'
import type { Routes, Schemas } from '../../api/api-types.ts'
import { call, isAbort } from '../../api/client.ts'
import { type Problem, problemOf } from '../../api/problem.ts'
import { after } from '../../state/clock.ts'

type OperationBody = NonNullable<Routes['createOperation']['body']>

/** The plan of an operation while its fields change. */
export interface Plan {
  readonly operation: Schemas['Operation'] | undefined
  readonly problem: Problem | undefined
  readonly isPlanning: boolean
  /** Takes a newer plan. */
  readonly take: (operation: Schemas['Operation']) => void
  readonly retry: () => void
}

const settleMs = 500

/** Plans an operation at once, and again a moment after its selection has changed. Nothing is sent by a plan. */
export function usePlan(body: OperationBody | undefined, key: string): Plan {
  const [state, setState] = useState<Pick<Plan, 'operation' | 'problem' | 'isPlanning'>>({
    operation: undefined,
    problem: undefined,
    isPlanning: true,
  })
  const [attempt, setAttempt] = useState(0)
  useEffect(() => {
    const own = new AbortController()
    const plan = async (): Promise<void> => {
      if (body === undefined) return
      try {
        const operation = await call('createOperation', { query: { dryRun: true }, body }, { signal: own.signal })
        setState({ operation, problem: undefined, isPlanning: false })
      } catch (error) {
        if (!isAbort(error)) setState({ operation: undefined, problem: problemOf(error), isPlanning: false })
      }
    }
    setState((before) => ({ ...before, problem: undefined, isPlanning: true }))
    const isFirst = state.operation === undefined && state.problem === undefined
    const stop = after(isFirst ? 0 : settleMs, () => void plan())
    return () => {
      stop()
      own.abort()
    }
  }, [key, attempt])
  return {
    ...state,
    take: (operation) => setState({ operation, problem: undefined, isPlanning: false }),
    retry: () => setAttempt(attempt + 1),
  }
}
