import { useEffect, useState } from 'preact/hooks'
import type { Routes, Schemas } from '../../api/api-types.ts'
import { call, isAbort } from '../../api/client.ts'
import { type Problem, problemOf } from '../../api/problem.ts'
import type { AnswerOf } from '../../api/request.ts'
import { after } from '../../state/clock.ts'
import { versionOf } from './letter-facts.ts'

type EditBody = NonNullable<Routes['editDeadLetter']['body']>

/** The answer of a dry run of an edit, while it is typed. */
export interface Verdict {
  readonly answer: AnswerOf<'editDeadLetter'> | undefined
  readonly problem: Problem | undefined
  readonly isChecking: boolean
}

const settleMs = 400
const unknown: Verdict = { answer: undefined, problem: undefined, isChecking: false }

/** Asks the server what an edit would do, a moment after the last key. */
export function useVerdict(
  letter: Pick<Schemas['DeadLetterDetail'], 'id' | 'state' | 'replayCount'>,
  body: EditBody | undefined,
): Verdict {
  const [verdict, setVerdict] = useState<Verdict>(unknown)
  const { reason: _, force: _force, ...checked } = body ?? {}
  useEffect(() => {
    if (body === undefined) {
      setVerdict(unknown)
      return undefined
    }
    const own = new AbortController()
    const check = async (): Promise<void> => {
      try {
        const request = { params: { id: letter.id }, query: { dryRun: true }, body: checked }
        const answer = await call('editDeadLetter', request, { signal: own.signal, ifMatch: versionOf(letter) })
        setVerdict({ answer, problem: undefined, isChecking: false })
      } catch (error) {
        if (!isAbort(error)) setVerdict({ answer: undefined, problem: problemOf(error), isChecking: false })
      }
    }
    setVerdict((before) => ({ ...before, isChecking: true }))
    const stop = after(settleMs, () => void check())
    return () => {
      stop()
      own.abort()
    }
  }, [body === undefined, JSON.stringify(checked), versionOf(letter)])
  return verdict
}
