import { IllegalTransitionError } from './order-errors.ts'
import type { OrderStatus } from './order-status.ts'

/** What may become of an order. Each state allows what it overrides; all else is refused here. */
abstract class OrderState {
  abstract readonly status: OrderStatus

  process(): OrderState {
    throw new IllegalTransitionError(this.status, 'PROCESSING')
  }

  ship(): OrderState {
    throw new IllegalTransitionError(this.status, 'SHIPPED')
  }

  deliver(): OrderState {
    throw new IllegalTransitionError(this.status, 'DELIVERED')
  }

  cancel(): OrderState {
    throw new IllegalTransitionError(this.status, 'CANCELLED')
  }

  /** Every order begins as PENDING; none returns to it. */
  reopen(): OrderState {
    throw new IllegalTransitionError(this.status, 'PENDING')
  }
}

class PendingState extends OrderState {
  override readonly status = 'PENDING'

  override process(): OrderState {
    return new ProcessingState()
  }

  override ship(): OrderState {
    return new ShippedState()
  }

  override deliver(): OrderState {
    return new DeliveredState()
  }

  override cancel(): OrderState {
    return new CancelledState()
  }
}

class ProcessingState extends OrderState {
  override readonly status = 'PROCESSING'

  override ship(): OrderState {
    return new ShippedState()
  }

  override deliver(): OrderState {
    return new DeliveredState()
  }
}

class ShippedState extends OrderState {
  override readonly status = 'SHIPPED'

  override deliver(): OrderState {
    return new DeliveredState()
  }
}

class DeliveredState extends OrderState {
  override readonly status = 'DELIVERED'
}

class CancelledState extends OrderState {
  override readonly status = 'CANCELLED'
}

const states: Readonly<Record<OrderStatus, OrderState>> = {
  PENDING: new PendingState(),
  PROCESSING: new ProcessingState(),
  SHIPPED: new ShippedState(),
  DELIVERED: new DeliveredState(),
  CANCELLED: new CancelledState(),
}

const transitions: Readonly<Record<OrderStatus, (state: OrderState) => OrderState>> = {
  PENDING: (state) => state.reopen(),
  PROCESSING: (state) => state.process(),
  SHIPPED: (state) => state.ship(),
  DELIVERED: (state) => state.deliver(),
  CANCELLED: (state) => state.cancel(),
}

/**
 * Returns the status after a change.
 * @throws IllegalTransitionError
 */
export function changed(from: OrderStatus, to: OrderStatus): OrderStatus {
  return transitions[to](states[from]).status
}
