/** An operation that an operator requests: it needs an identity and a permission, and is written to the audit log (I21). */
export type AdminOperation =
  | 'REGISTER'
  | 'START'
  | 'STOP'
  | 'PAUSE'
  | 'RESUME'
  | 'PAUSE_TIER'
  | 'RESUME_TIER'
  | 'SEND_TO_DLT'
  | 'DESTROY'
  | 'SEEK'
  | 'SKIP'
  | 'RESET'
  | 'REPLAY'
  | 'REPLAY_TO_TIER'
  | 'RELEASE'
  | 'EDIT_REPLAY'
  | 'PURGE'
  | 'ACKNOWLEDGE_LOSS'
  /** Reads payloads, so it is in the audit log too. */
  | 'READ_DEAD_LETTERS'
  /** Reads numbers and names: only a refusal is in the audit log. */
  | 'COUNT_DEAD_LETTERS'
