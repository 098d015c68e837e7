/** The lifecycle state of a binding. See state-machine.ts. */
export type ContainerState = 'CREATED' | 'RUNNING' | 'PAUSED' | 'STOPPED' | 'DESTROYED'

/** A command that an operator gives to a binding. */
export type BindingCommand =
  | 'start'
  | 'stop'
  | 'pause'
  | 'resume'
  | 'destroy'
  | 'unregister'
  | 'seek'
  | 'skip'
  | 'reset'
