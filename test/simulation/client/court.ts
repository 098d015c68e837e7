import { Court as AnyCourt } from '../world/court.ts'
import type { RareState } from './rare-states.ts'

/** A court that knows the rare states of the client. */
export class Court extends AnyCourt<RareState> {}
