/** The world of a seed: the database, the time, the processes and the knowledge of checkers. */

import { describeThrown } from '@waybill/core'
import { RowsLockedError } from '@waybill/outbox/internal'
import { type VirtualRuntime } from '@waybill/sim'
import { createSimSqlServer, type SimSqlServer, type SimStatement } from '@waybill/sim/internal'
import { Draw } from '../draw.ts'
import { Court } from '../world/court.ts'
import { BoundsChecker } from './bounds-checker.ts'
import { DeliveryJournal } from './delivery-journal.ts'
import { EventBook } from './event-book.ts'
import type { Ground, NodeView } from './ground.ts'
import { Ownership } from './ownership.ts'
import type { Program } from './program.ts'
import { QuietChecker } from './quiet-checker.ts'
import type { RareState } from './rare-states.ts'
import { RepeatChecker } from './repeat-checker.ts'
import { Roads } from './roads.ts'
import { RowChecker } from './row-checker.ts'

/**
 * The statements that an application may still execute with a stopped outbox: its rows stay in the table. A row claimed
 * for delivery here is released when its transaction ends.
 */
const writing: ReadonlySet<SimStatement> = new Set([
  'begin',
  'lock',
  'savepoint',
  'insertNew',
  'rollbackTo',
  'commit',
  'rollback',
  'release',
])

/** One seed's world. */
export class World implements Ground {
  readonly runtime: VirtualRuntime
  readonly program: Program
  readonly court: Court<RareState>
  readonly server: SimSqlServer
  /** Random choices of the chaos. */
  readonly draw: Draw
  readonly book: EventBook
  readonly ownership: Ownership
  readonly journal: DeliveryJournal
  readonly roads: Roads
  readonly rowChecker: RowChecker
  readonly repeats: RepeatChecker
  readonly bounds: BoundsChecker
  readonly quiet: QuietChecker
  /** All processes that ever ran, by name. */
  readonly nodes = new Map<string, NodeView>()
  isHealed = false
  /** True when the database's clock was set back: an event may become due a second time. */
  hasClockJumpedBack = false
  readonly #underWay = new StatementsUnderWay()

  constructor(runtime: VirtualRuntime, program: Program, trace: ((who: string, text: string) => void) | undefined) {
    this.runtime = runtime
    this.program = program
    this.court = new Court(trace)
    this.draw = new Draw(runtime.random)
    this.book = new EventBook(program)
    this.ownership = new Ownership(program, () => this.server)
    this.journal = new DeliveryJournal(this)
    this.roads = new Roads(this)
    this.rowChecker = new RowChecker(this)
    this.repeats = new RepeatChecker(this)
    this.bounds = new BoundsChecker(program, this.court)
    this.quiet = new QuietChecker(this)
    this.server = createSimSqlServer({
      runtime,
      latencyMs: program.latencyMs,
      witness: {
        changed: (row, change, client) => this.rowChecker.changed(row, change, client),
        sending: (statement, client) => this.#sending(statement, client),
        answered: (statement, client, answer, error) => {
          this.#underWay.delete(client, statement)
          if (error instanceof RowsLockedError) this.court.reach('finish: another transaction has locked a row')
          this.court.note(client, () => `${statement}: ${error === undefined ? shown(answer) : describeThrown(error)}`)
        },
      },
    })
    this.server.jump(program.databaseSkewMs)
  }

  get faultCounts(): ReadonlyMap<string, number> {
    return this.server.faultCounts
  }

  /** Maximum attempts of the mode, the first one included. */
  get maxAttempts(): number {
    return this.program.mode === 'ordered' ? 1 : this.program.options.maxAttempts
  }

  get workerCount(): number {
    return this.program.mode === 'ordered' ? 1 : this.program.options.workerCount
  }

  /** Returns the engine's unanswered statements of a process. */
  engineStatements(process: string): SimStatement[] {
    return this.#underWay.of(process).filter((statement) => !writing.has(statement))
  }

  readonly now = (): number => this.runtime.clock.monotonic()

  #sending(statement: SimStatement, client: string): void {
    this.#underWay.add(client, statement)
    this.quiet.sending(statement, client)
    if (this.nodes.get(client)?.state === 'STOPPED' && !writing.has(statement))
      this.court.violate('I18', `${client} has stopped and sends ${statement}`)
  }
}

/** Unanswered statements by process. */
class StatementsUnderWay {
  readonly #statements = new Map<string, SimStatement[]>()

  of(process: string): SimStatement[] {
    return this.#statements.get(process) ?? []
  }

  add(process: string, statement: SimStatement): void {
    this.#statements.set(process, [...this.of(process), statement])
  }

  delete(process: string, statement: SimStatement): void {
    const statements = this.of(process)
    statements.splice(statements.indexOf(statement), 1)
  }
}

function shown(answer: unknown): string {
  return (
    JSON.stringify(answer, (name, value: unknown) =>
      typeof value === 'bigint' ? `${value}` : name === 'event' || name === 'session' ? undefined : value,
    )?.slice(0, 200) ?? 'done'
  )
}
